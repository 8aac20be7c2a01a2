//! Tools that panic, and work that nobody waits for any more.

use events::event::tool::CallOutcome;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::*;
use crate::tool::test_scene::{Stage, runtime};

/// A tool that does what a test wants.
struct Odd<F>(F);

impl<F> Tool for Odd<F>
where
    F: Fn(Scene) -> BoxFuture<'static, ToolOutput> + Send + Sync + 'static,
{
    fn spec(&self) -> ToolSpec {
        spec("odd", Effect::Other, "", &[])
    }

    fn run(&self, _: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput> {
        self.0(scene)
    }
}

fn run(tool: impl Fn(Scene) -> BoxFuture<'static, ToolOutput> + Send + Sync + 'static) -> ToolOutput {
    Stage::new().run(Odd(tool), &json!({}))
}

#[test]
fn a_panic_is_a_failed_result_before_and_after_the_first_await() {
    let wanted = (CallOutcome::Failed, "the tool panicked: no 7");
    let output = run(|_| panic!("no {}", 7));
    assert_eq!((output.outcome, output.summary.as_str()), wanted);
    let output = run(|_| {
        async {
            tokio::task::yield_now().await;
            panic!("no {}", 7)
        }
        .boxed()
    });
    assert_eq!((output.outcome, output.summary.as_str()), wanted);
}

#[test]
fn a_panic_in_the_work_with_files_is_a_failed_result() {
    let output = run(|scene| with_files(scene, |_, _| panic!("in the file")).boxed());
    assert_eq!(
        (output.outcome, output.summary.as_str()),
        (CallOutcome::Failed, "the tool panicked: in the file")
    );
}

#[test]
fn work_with_files_hears_that_its_caller_is_gone() {
    let (stage, runtime) = (Stage::new(), runtime());
    let (began, has_begun) = std::sync::mpsc::channel();
    let (heard, has_heard) = std::sync::mpsc::channel();
    let tool = Odd(move |scene| {
        let (began, heard) = (began.clone(), heard.clone());
        with_files(scene, move |_, watch| {
            began.send(()).expect("the test waits");
            while watch.stop().is_none() {
                std::thread::yield_now();
            }
            heard.send(watch.stop()).expect("the test waits");
            ToolOutput::ok("late")
        })
        .boxed()
    });
    let call = runtime.spawn(stage.call(tool, &json!({})));
    has_begun.recv().expect("it begins");
    call.abort();
    assert_eq!(has_heard.recv().expect("it hears"), Some(Stop::Cancelled));
}
