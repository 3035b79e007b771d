//! Checks of a [`pair_filter`](crate::BroadPhaseDescriptor::pair_filter) text that need no compiler.

use std::iter::Peekable;
use std::str::Chars;

use crate::api::error::PairFilterError;

pub(crate) const FUNCTION: &str = "admits_pair";
/// Required prefix of names, so that they cannot collide with names of the passes.
const PREFIX: &str = "admits_";

struct Tokens<'a> {
    letters: Peekable<Chars<'a>>,
    line: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Sign(char),
}

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            letters: text.chars().peekable(),
            line: 1,
        }
    }

    fn next_char(&mut self) -> Option<char> {
        let letter = self.letters.next()?;
        self.line += u32::from(letter == '\n');
        Some(letter)
    }

    fn skip_comment(&mut self, is_block: bool) -> Result<(), PairFilterError> {
        let line = self.line;
        let mut depth = 1;
        while depth > 0 {
            match (self.next_char(), self.letters.peek()) {
                (Some('\n'), _) if !is_block => return Ok(()),
                (Some('/'), Some('*')) if is_block => {
                    self.next_char();
                    depth += 1;
                }
                (Some('*'), Some('/')) if is_block => {
                    self.next_char();
                    depth -= 1;
                }
                (None, _) if is_block => return Err(PairFilterError::Unclosed { line, what: "/*" }),
                (None, _) => return Ok(()),
                _ => {}
            }
        }
        Ok(())
    }

    fn token(&mut self) -> Result<Option<(u32, Token)>, PairFilterError> {
        while let Some(letter) = self.next_char() {
            let line = self.line;
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            match (letter, self.letters.peek()) {
                ('/', Some('/')) => self.skip_comment(false)?,
                ('/', Some('*')) => {
                    self.next_char();
                    self.skip_comment(true)?;
                }
                _ if letter.is_whitespace() => {}
                _ if is_part(letter) => {
                    let mut word = String::from(letter);
                    while let Some(next) = self.letters.next_if(|&next| is_part(next)) {
                        word.push(next);
                    }
                    return Ok(Some((line, Token::Word(word))));
                }
                _ => return Ok(Some((line, Token::Sign(letter)))),
            }
        }
        Ok(None)
    }
}

fn is_cross_invocation(name: &str) -> bool {
    let exchanges = |prefix| {
        let rest: Option<&str> = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
    };
    let waits = name.ends_with("Barrier") || name == "workgroupUniformLoad";
    !name.starts_with(PREFIX) && (waits || exchanges("subgroup") || exchanges("quad"))
}

/// Fails unless the text declares the function, and only functions, structs, constants and aliases with the prefix.
pub(crate) fn check(text: &str) -> Result<(), PairFilterError> {
    let mut tokens = Tokens::of(text);
    let mut has_function = false;
    let mut before: Option<(u32, String)> = None;
    // Open braces and parentheses, with their lines.
    let mut open: Vec<(u32, &'static str)> = Vec::new();
    while let Some((line, token)) = tokens.token()? {
        let called = before.take().filter(|_| token == Token::Sign('('));
        if let Some((line, name)) = called.filter(|(_, name)| is_cross_invocation(name)) {
            return Err(PairFilterError::Calls { line, name });
        }
        if let Token::Word(word) = &token {
            before = Some((line, word.clone()));
        }
        match token {
            Token::Sign('{') => open.push((line, "{")),
            Token::Sign('(') => open.push((line, "(")),
            Token::Sign('}' | ')') if open.pop().is_none() => return Err(PairFilterError::Unopened { line }),
            Token::Sign('@') if open.is_empty() => return Err(PairFilterError::Declares { line, what: "@" }),
            Token::Word(word) if open.is_empty() => match word.as_str() {
                "fn" | "struct" | "const" | "alias" => {
                    let name = match tokens.token()? {
                        Some((_, Token::Word(name))) => name,
                        // The device's compiler reports a declaration without a name.
                        _ => continue,
                    };
                    if !name.starts_with(PREFIX) {
                        return Err(PairFilterError::Name { line, name });
                    }
                    has_function |= word == "fn" && name == FUNCTION;
                }
                "var" => return Err(PairFilterError::Declares { line, what: "var" }),
                "override" => return Err(PairFilterError::Declares { line, what: "override" }),
                "enable" => return Err(PairFilterError::Declares { line, what: "enable" }),
                "requires" => return Err(PairFilterError::Declares { line, what: "requires" }),
                "diagnostic" => {
                    return Err(PairFilterError::Declares {
                        line,
                        what: "diagnostic",
                    });
                }
                _ => {}
            },
            _ => {}
        }
    }
    match (open.pop(), has_function) {
        (Some((line, what)), _) => Err(PairFilterError::Unclosed { line, what }),
        (None, false) => Err(PairFilterError::Missing),
        (None, true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "fn admits_pair(a: u32, b: u32) -> bool { return a + 1u < b; }";

    #[test]
    fn texts_may_declare_types_functions_and_constants_only() {
        let after = |text: &str| check(&format!("// Ours.\n{text}\n{PLAIN}"));
        for fine in [
            "",
            "const admits_most: u32 = 7u; alias admits_word = u32;",
            "struct admits_row { @size(16) a: u32, }\nfn admits_it(row: admits_row) { var all = true; }",
            "/* var /* nested */ fn { */ // fn main() {",
            "const_assert 1 < 2;",
            "fn\n/* where? */ admits_helper() {}",
        ] {
            assert_eq!(after(fine), Ok(()), "{fine}");
        }
        let declares = |what| Err(PairFilterError::Declares { line: 3, what });
        for (text, what) in [
            ("\nvar<private> admits_count: u32;", "var"),
            (
                "\n@group(0) @binding(1) var<storage, read> admits_rows: array<u32>;",
                "@",
            ),
            ("\noverride admits_limit: u32 = 1u;", "override"),
            ("\n@compute @workgroup_size(1) fn admits_main() {}", "@"),
            ("\nenable f16;", "enable"),
            ("\nrequires unrestricted_pointer_parameters;", "requires"),
            ("\ndiagnostic(off, derivative_uniformity);", "diagnostic"),
        ] {
            assert_eq!(after(text), declares(what), "{text}");
        }
        for name in ["helper", "overlaps", "admitted"] {
            let (line, name) = (2, name.to_owned());
            for kind in ["fn ", "struct ", "const ", "alias "] {
                let error = PairFilterError::Name {
                    line,
                    name: name.clone(),
                };
                assert_eq!(after(&format!("{kind}{name}")), Err(error));
            }
        }
    }

    /// Such calls could hang, because other invocations may test no pair at that time, or have ended.
    #[test]
    fn calls_that_wait_for_other_invocations_are_refused_by_name() {
        let names = [
            "workgroupBarrier",
            "storageBarrier",
            "textureBarrier",
            "subgroupBarrier",
            "workgroupUniformLoad",
            "subgroupAdd",
            "subgroupBallot",
            "subgroupShuffleXor",
            "quadSwapX",
        ];
        for name in names {
            for call in [format!("{name}()"), format!("{name} /* (here) */\n(1u)")] {
                let text = format!("fn admits_pair(a: u32, b: u32) -> bool {{\n    {call};\n    return true;\n}}");
                let (line, name) = (2, name.to_owned());
                assert_eq!(check(&text), Err(PairFilterError::Calls { line, name }), "{text}");
            }
            // Without parentheses, the name is not a call.
            let text =
                format!("fn admits_pair(a: u32, b: u32) -> bool {{ // {name}()\nlet {name} = true; return {name}; }}");
            assert_eq!(check(&text), Ok(()), "{text}");
        }
        let own = "fn admits_myBarrier() -> bool { return true; }
            fn admits_pair(a: u32, b: u32) -> bool { return admits_myBarrier(); }";
        assert_eq!(check(own), Ok(()));
    }

    #[test]
    fn texts_without_the_function_or_with_something_left_open_are_refused() {
        let unclosed = |line, what| Err(PairFilterError::Unclosed { line, what });
        for (text, expected) in [
            ("", Err(PairFilterError::Missing)),
            (&format!("// {PLAIN}"), Err(PairFilterError::Missing)),
            ("const admits_pair = 1;", Err(PairFilterError::Missing)),
            (&format!("{PLAIN}\n/* /* */"), unclosed(2, "/*")),
            ("fn admits_pair(a: u32,\n b: u32) -> bool {", unclosed(2, "{")),
            ("fn admits_pair(", unclosed(1, "(")),
            (&format!("{PLAIN}\n}}"), Err(PairFilterError::Unopened { line: 2 })),
        ] {
            assert_eq!(check(text), expected, "{text}");
        }
        assert_eq!(check(PLAIN), Ok(()));
    }
}
