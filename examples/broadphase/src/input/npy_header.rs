//! Headers of NumPy arrays: a dictionary as any Python version writes it. Existing parsers reject `3L` and `float32`;
//! one takes three times longer per `{`.

use std::io::Read;

use anyhow::{Context, Result, bail};

use super::shortened;

#[derive(Debug, PartialEq)]
pub struct Header {
    /// NumPy type, such as `<f4`.
    pub kind: String,
    /// True if the first index runs fastest.
    pub is_fortran: bool,
    pub shape: Vec<u64>,
}

const BROKEN: &str = "invalid header";

/// Returns the header and the number of data bytes. `length` is the file's size.
pub fn read(reader: &mut impl Read, length: u64) -> Result<(Header, u64)> {
    let mut start = [0; 12];
    let mut fill = |bytes: &mut [u8]| reader.read_exact(bytes).ok().context("too short for an NPY file");
    fill(&mut start[..10])?;
    if !start.starts_with(b"\x93NUMPY") {
        bail!("not an NPY file");
    }
    let mut prefix = 10;
    let mut text_length = u64::from(u16::from_le_bytes([start[8], start[9]]));
    if start[6] > 1 {
        fill(&mut start[10..])?;
        text_length = u64::from(u32::from_le_bytes([start[8], start[9], start[10], start[11]]));
        prefix = 12;
    }
    let header_length = prefix + text_length;
    if header_length > length {
        bail!("truncated: a header of {text_length} bytes in a file of {length}");
    }
    let mut text = Vec::new();
    reader.take(text_length).read_to_end(&mut text)?;
    let header = parse(&text, length)?;
    Ok((header, length - header_length))
}

fn parse(text: &[u8], file_length: u64) -> Result<Header> {
    let mut rest = Rest(text);
    let (mut kind, mut is_fortran, mut shape) = (None, None, None);
    rest.expect(b'{')?;
    while !rest.takes(b'}') {
        let key = rest.string().context(BROKEN)?;
        rest.expect(b':')?;
        match key {
            b"descr" => match rest.string() {
                Some(text) => kind = Some(String::from_utf8_lossy(text).into_owned()),
                None if matches!(rest.next(), Some(b'[' | b'(')) => bail!("records; use floats or integers"),
                None => bail!("{BROKEN}: descr is not a string"),
            },
            b"fortran_order" => is_fortran = Some(rest.truth()?),
            b"shape" => shape = Some(rest.shape(file_length)?),
            other => bail!("{BROKEN}: unknown key {:?}", shortened(&String::from_utf8_lossy(other))),
        }
        if !rest.takes(b',') && rest.next() != Some(b'}') {
            bail!(BROKEN);
        }
    }
    if rest.next().is_some() {
        bail!("{BROKEN}: unexpected text after it");
    }
    Ok(Header {
        kind: kind.with_context(|| format!("{BROKEN}: no descr"))?,
        is_fortran: is_fortran.with_context(|| format!("{BROKEN}: no fortran_order"))?,
        shape: shape.with_context(|| format!("{BROKEN}: no shape"))?,
    })
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// Next non-blank byte, not consumed.
    fn next(&mut self) -> Option<u8> {
        self.0 = self.0.trim_ascii_start();
        self.0.first().copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_there = self.next() == Some(byte);
        if is_there {
            self.0 = &self.0[1..];
        }
        is_there
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        match self.takes(byte) {
            true => Ok(()),
            false => bail!("{BROKEN}: no {:?}", char::from(byte)),
        }
    }

    /// Python 2 may write `u'…'`.
    fn string(&mut self) -> Option<&'a [u8]> {
        let quote = match self.next()? {
            b'u' | b'b' if matches!(self.0.get(1), Some(b'\'' | b'"')) => {
                self.0 = &self.0[1..];
                self.0[0]
            }
            quote @ (b'\'' | b'"') => quote,
            _ => return None,
        };
        let inner = &self.0[1..];
        let end = inner.iter().position(|&byte| byte == quote)?;
        self.0 = &inner[end + 1..];
        Some(&inner[..end])
    }

    fn word(&mut self) -> &'a [u8] {
        self.next();
        let end = self.0.iter().position(|byte| !byte.is_ascii_alphanumeric());
        let (word, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        word
    }

    fn truth(&mut self) -> Result<bool> {
        match self.word() {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => bail!("{BROKEN}: fortran_order must be True or False"),
        }
    }

    /// Python 2 may write `3L`.
    fn shape(&mut self, file_length: u64) -> Result<Vec<u64>> {
        self.expect(b'(')?;
        let whole = self.0;
        let mut lengths = Vec::new();
        let mut product = 1_u64;
        while !self.takes(b')') {
            let word = self.word();
            let digits = word.strip_suffix(b"L").unwrap_or(word);
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                bail!("{BROKEN}: invalid shape");
            }
            let length = str::from_utf8(digits)
                .ok()
                .and_then(|digits| digits.parse::<u64>().ok());
            let fits = length.and_then(|length| {
                product = product.checked_mul(length.max(1))?;
                Some(length).filter(|_| product <= file_length)
            });
            let Some(length) = fits else {
                let shape = whole.split(|&byte| byte == b')').next().unwrap_or_default();
                bail!(
                    "truncated: the shape {} exceeds the file's size",
                    shortened(&String::from_utf8_lossy(shape))
                );
            };
            lengths.push(length);
            if !self.takes(b',') && self.next() != Some(b')') {
                bail!("{BROKEN}: invalid shape");
            }
        }
        Ok(lengths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Header, String> {
        parse(text.as_bytes(), 1000).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn headers_come_from_every_python() {
        let expected = Header {
            kind: "<f4".to_owned(),
            is_fortran: false,
            shape: vec![3, 6],
        };
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 6), }\n",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 6L), }",
            "{u'shape':(3 , 6 ,),\"descr\" : \"<f4\",'fortran_order':False}  \n",
            "\n{ 'descr': b'<f4',\n'fortran_order': False,\n'shape': (3L,6),}",
        ] {
            assert_eq!(parsed(text).as_ref(), Ok(&expected), "{text}");
        }
        let shape = |shape: &str| parsed(&format!("{{'descr':'f4','fortran_order':True,'shape':{shape}}}"));
        assert!(shape("()").unwrap().shape.is_empty());
        assert_eq!(shape("(7,)").unwrap().shape, [7]);
        for (text, needle) in [
            ("(3 6)", "invalid shape"),
            ("(-3, 6)", "invalid shape"),
            ("(3.0, 6)", "invalid shape"),
            ("(3, 6", "invalid shape"),
            ("(3, 999)", "(3, 999)".trim_matches(['(', ')'])),
            ("7", "no '('"),
            ("(3, 6)} x{", "unexpected text"),
        ] {
            assert!(shape(text).unwrap_err().contains(needle), "{text}: {:?}", shape(text));
        }
        for text in ["", "{", "{}", "{'descr': '<f4'}", "{'descr: '<f4'}", "{'a': 1}", "[]"] {
            assert!(parsed(text).unwrap_err().contains(BROKEN), "{text}");
        }
    }
}
