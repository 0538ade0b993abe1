//! The colours of the theme that the user selected.

use crate::style::Style;
use std::sync::atomic::{AtomicU8, Ordering};

/// The meaning of a colour in rendered Markdown and in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tint {
    /// Added lines, and strings.
    Green,
    /// Numbers.
    Yellow,
    /// Keywords.
    Magenta,
    /// Code within a sentence, and the headers of hunks in a diff.
    Cyan,
    /// Removed lines.
    Red,
}

/// The SGR codes (ECMA-48) of a theme. An empty code leaves the text unstyled.
struct Theme {
    name: &'static str,
    dim: &'static str,
    good: &'static str,
    bad: &'static str,
    action: &'static str,
    green: &'static str,
    yellow: &'static str,
    magenta: &'static str,
    cyan: &'static str,
    red: &'static str,
}

/// The themes under their names in the setting `terminal.theme`.
const THEMES: &[Theme] = &[
    // Palette colours of the terminal, which the user may have adjusted to the background.
    Theme {
        name: "auto",
        dim: "\x1b[2m",
        good: "\x1b[32m",
        bad: "\x1b[31m",
        action: "\x1b[36m",
        green: "\x1b[32m",
        yellow: "\x1b[33m",
        magenta: "\x1b[35m",
        cyan: "\x1b[36m",
        red: "\x1b[31m",
    },
    // Fixed colours of the 256-colour palette, each with a contrast of at least 4.5:1 to black (WCAG 2, level AA).
    Theme {
        name: "dark",
        dim: "\x1b[38;5;245m",
        good: "\x1b[38;5;114m",
        bad: "\x1b[38;5;210m",
        action: "\x1b[38;5;80m",
        green: "\x1b[38;5;114m",
        yellow: "\x1b[38;5;222m",
        magenta: "\x1b[38;5;176m",
        cyan: "\x1b[38;5;80m",
        red: "\x1b[38;5;210m",
    },
    // Fixed colours with the same contrast to white.
    Theme {
        name: "light",
        dim: "\x1b[38;5;241m",
        good: "\x1b[38;5;22m",
        bad: "\x1b[38;5;124m",
        action: "\x1b[38;5;24m",
        green: "\x1b[38;5;22m",
        yellow: "\x1b[38;5;94m",
        magenta: "\x1b[38;5;90m",
        cyan: "\x1b[38;5;24m",
        red: "\x1b[38;5;124m",
    },
    // No colours: emphasized text is bold, underlined or struck through.
    Theme {
        name: "mono",
        dim: "\x1b[2m",
        good: "\x1b[1m",
        bad: "\x1b[4m",
        action: "",
        green: "",
        yellow: "",
        magenta: "\x1b[1m",
        cyan: "\x1b[1m",
        red: "\x1b[9m",
    },
];

/// The index of the theme that the user selected.
static SETTLED: AtomicU8 = AtomicU8::new(0);

/// Sets the theme for all later output.
pub(crate) fn set(name: &str) {
    let at = THEMES.iter().position(|theme| theme.name == name).unwrap_or(0);
    SETTLED.store(u8::try_from(at).unwrap_or(0), Ordering::Relaxed);
}

fn settled() -> &'static Theme {
    THEMES.get(usize::from(SETTLED.load(Ordering::Relaxed))).unwrap_or(&THEMES[0])
}

/// Returns `true` if the user selected the theme without colours.
pub(crate) fn is_mono() -> bool {
    settled().name == "mono"
}

/// Returns the codes that begin and end a style.
pub(crate) fn codes(style: Style) -> (&'static str, &'static str) {
    codes_in(settled(), style)
}

fn codes_in(theme: &'static Theme, style: Style) -> (&'static str, &'static str) {
    let on = match style {
        Style::Plain => "",
        Style::Dim => theme.dim,
        Style::Good => theme.good,
        Style::Bad => theme.bad,
        Style::Action => theme.action,
        Style::Name => "\x1b[1m",
    };
    (on, if on.is_empty() { "" } else { "\x1b[0m" })
}

/// Returns the code that begins dimmed text.
pub(crate) fn dim() -> &'static str {
    settled().dim
}

/// Returns the palette index of dimmed text, if the theme fixes its colour.
pub(crate) fn dim_colour() -> Option<u8> {
    dim().strip_prefix("\x1b[38;5;")?.strip_suffix('m')?.parse().ok()
}

/// Returns the code that begins a tint.
pub(crate) fn tint(tint: Tint) -> &'static str {
    let theme = settled();
    match tint {
        Tint::Green => theme.green,
        Tint::Yellow => theme.yellow,
        Tint::Magenta => theme.magenta,
        Tint::Cyan => theme.cyan,
        Tint::Red => theme.red,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the red, green and blue components of one of the palette colours from 16 to 255, as in xterm.
    fn rgb(colour: u32) -> [f64; 3] {
        match colour {
            232.. => [f64::from((colour - 232) * 10 + 8); 3],
            _ => {
                let level = |at: u32| f64::from(if at == 0 { 0 } else { at * 40 + 55 });
                let cube = colour - 16;
                [level(cube / 36), level(cube / 6 % 6), level(cube % 6)]
            }
        }
    }

    /// Returns the relative luminance as defined by WCAG 2.
    fn luminance(colour: [f64; 3]) -> f64 {
        let part = |value: f64| {
            let value = value / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2])
    }

    #[test]
    fn every_name_is_a_theme_and_the_colours_can_be_read() {
        let names = <crate::choices::Theme as clap::ValueEnum>::value_variants().iter().map(crate::config::name_of);
        assert_eq!(THEMES.iter().map(|theme| theme.name).collect::<Vec<_>>(), names.collect::<Vec<_>>());
        for theme in THEMES {
            let all = [
                theme.dim,
                theme.good,
                theme.bad,
                theme.action,
                theme.green,
                theme.yellow,
                theme.magenta,
                theme.cyan,
                theme.red,
            ];
            assert_ne!(codes_in(theme, Style::Good), codes_in(theme, Style::Bad), "{}", theme.name);
            for code in all {
                let Some(number) = code.strip_prefix("\x1b[38;5;").and_then(|code| code.strip_suffix('m')) else {
                    continue;
                };
                let light = luminance(rgb(number.parse().unwrap()));
                let contrast = if theme.name == "light" { 1.05 / (light + 0.05) } else { (light + 0.05) / 0.05 };
                assert!(contrast >= 4.5, "{} {number}: {contrast}", theme.name);
            }
        }
    }
}
