//! What must not compile. Each file of `ui/` is named as the sentence that it proves.

#[test]
fn what_must_not_compile_does_not() {
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}
