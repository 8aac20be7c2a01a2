//! Holds every tool, those of embedding programs too, to the bound on what a model is shown.

use events::spec::Spec;
use events::text::{clean_str, head, tail};

use crate::interceptor::Interceptor;
use crate::limits::{REASON_BYTES_MAX, TOOL_OUTPUT_KEPT_BYTES_MAX};
use crate::tool::ToolOutput;

/// Bytes that the marker in the middle takes at most.
const MARKER_BYTES_MAX: usize = 96;

/// The bound on results.
pub(crate) struct Truncation;

impl Interceptor for Truncation {
    fn after_call(&self, spec: &Spec, output: &mut ToolOutput) {
        let summary = clean_str(&output.summary);
        head(&summary, REASON_BYTES_MAX).clone_into(&mut output.summary);
        let clean = clean_str(&output.content);
        if clean != output.content {
            keep_whole(output);
            output.content = clean;
        }
        let bytes_max = usize::try_from(spec.limits.tool_output_bytes).unwrap_or(usize::MAX);
        // A tool that cut its own output may have spent a line on saying so.
        if output.content.len() > bytes_max.saturating_add(MARKER_BYTES_MAX) {
            keep_whole(output);
            output.content = cut(&output.content, bytes_max);
        }
        if let Some(whole) = &mut output.whole {
            whole.truncate(TOOL_OUTPUT_KEPT_BYTES_MAX);
        }
    }
}

fn keep_whole(output: &mut ToolOutput) {
    if output.whole.is_none() {
        output.bytes = output.bytes.max(output.content.len() as u64);
        output.whole = Some(output.content.clone().into_bytes());
    }
}

fn cut(text: &str, bytes_max: usize) -> String {
    let half = bytes_max / 2;
    let (start, end) = (head(text, half), tail(text, half));
    let left_out = text.len() - start.len() - end.len();
    format!("{start}\n[... {left_out} bytes left out ...]\n{end}")
}

#[cfg(test)]
mod tests {
    use events::event::tool::CallOutcome;

    use super::*;

    #[test]
    fn a_tool_that_knows_no_bounds_is_held_to_them() {
        let mut spec = Spec::new("script:x".parse().expect("valid"));
        spec.limits.tool_output_bytes = 100;
        let mut output = ToolOutput {
            outcome: CallOutcome::Ok,
            summary: "\x1b[1mdone".into(),
            content: "é\0".repeat(500),
            whole: None,
            bytes: 0,
        };
        let whole = output.content.clone().into_bytes();
        Truncation.after_call(&spec, &mut output);
        assert_eq!(output.summary, "done");
        assert!(output.content.len() < 100 + MARKER_BYTES_MAX);
        assert!(!output.content.contains('\0'));
        assert_eq!(output.whole, Some(whole));
        assert_eq!(output.bytes, 1500);
    }
}
