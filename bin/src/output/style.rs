//! The few colours, by what they mean. The stream takes them out where they are not wanted.

use anstyle::{AnsiColor, Style};

/// What a colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// An ordinary text.
    Plain,
    /// Beside the point.
    Faint,
    /// Worth a look.
    Strong,
    /// A user's words.
    User,
    /// Work of a tool.
    Work,
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// It needs a person, or may not be what one thinks.
    Warning,
    /// What the context leaves out.
    Context,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Faint => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
            Self::User => AnsiColor::Cyan.on_default().bold(),
            Self::Work => AnsiColor::Blue.on_default(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Context => AnsiColor::Magenta.on_default(),
        }
    }

    /// The text in this tone.
    pub(crate) fn paint(self, text: &str) -> String {
        let style = self.style();
        if text.is_empty() || style == Style::new() {
            return text.to_owned();
        }
        format!("{style}{text}{style:#}")
    }
}
