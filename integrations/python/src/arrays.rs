//! NumPy arrays of float32 or float64 with any strides, read in place.

use gpu_broad_phase::{LocalOrigin, NONE};
use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rayon::prelude::*;

pub enum Matrix<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Double(PyReadonlyArray2<'py, f64>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Matrix<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray2<f32>>() {
            return Ok(Self::Single(array.readonly()));
        }
        match object.cast::<PyArray2<f64>>() {
            Ok(array) => Ok(Self::Double(array.readonly())),
            Err(_) => Err(PyTypeError::new_err("a table of float32 or float64 is needed")),
        }
    }
}

/// View for threads without the interpreter.
#[derive(Clone, Copy)]
pub enum Numbers<'a> {
    Single(ArrayView2<'a, f32>),
    Double(ArrayView2<'a, f64>),
}

impl Matrix<'_> {
    pub fn view(&self) -> Numbers<'_> {
        match self {
            Self::Single(array) => Numbers::Single(array.as_array()),
            Self::Double(array) => Numbers::Double(array.as_array()),
        }
    }
}

impl Numbers<'_> {
    pub fn rows(&self) -> usize {
        match self {
            Self::Single(array) => array.nrows(),
            Self::Double(array) => array.nrows(),
        }
    }

    /// Missing columns are 0.
    pub fn row(&self, row: usize) -> [f64; 3] {
        fn of<T: Copy + Into<f64>>(array: &ArrayView2<'_, T>, row: usize) -> [f64; 3] {
            let mut numbers = [0.0; 3];
            for (column, number) in numbers.iter_mut().enumerate().take(array.ncols()) {
                *number = array[[row, column]].into();
            }
            numbers
        }
        match self {
            Self::Single(array) => of(array, row),
            Self::Double(array) => of(array, row),
        }
    }

    /// True if float32 holds all numbers.
    pub fn are_exact(&self) -> bool {
        match self {
            Self::Single(_) => true,
            Self::Double(array) => {
                let is_exact = |row| array.row(row).iter().all(|&number| LocalOrigin::is_exact(number));
                (0..array.nrows()).into_par_iter().all(is_exact)
            }
        }
    }
}

/// One number per row, or one for all.
pub enum Lengths<'py> {
    All(f64),
    Single(PyReadonlyArray1<'py, f32>),
    Double(PyReadonlyArray1<'py, f64>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Lengths<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray1<f32>>() {
            return Ok(Self::Single(array.readonly()));
        }
        match object.cast::<PyArray1<f64>>() {
            Ok(array) => Ok(Self::Double(array.readonly())),
            Err(_) => object.extract().map(Self::All),
        }
    }
}

#[derive(Clone, Copy)]
pub enum LengthsView<'a> {
    All(f64),
    Single(ArrayView1<'a, f32>),
    Double(ArrayView1<'a, f64>),
}

impl Lengths<'_> {
    pub fn view(&self) -> LengthsView<'_> {
        match self {
            Self::All(number) => LengthsView::All(*number),
            Self::Single(array) => LengthsView::Single(array.as_array()),
            Self::Double(array) => LengthsView::Double(array.as_array()),
        }
    }
}

impl LengthsView<'_> {
    pub fn at(&self, row: usize) -> f64 {
        match self {
            Self::All(number) => *number,
            Self::Single(array) => array[row].into(),
            Self::Double(array) => array[row],
        }
    }
}

/// One word per row, or one for all.
pub enum Each<'py, T: numpy::Element> {
    All(T),
    Row(PyReadonlyArray1<'py, T>),
}

impl<'a, 'py, T: numpy::Element + Copy> FromPyObject<'a, 'py> for Each<'py, T>
where
    T: for<'b> FromPyObject<'b, 'py>,
{
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray1<T>>() {
            return Ok(Self::Row(array.readonly()));
        }
        object.extract().map(Self::All).map_err(Into::into)
    }
}

#[derive(Clone, Copy)]
pub enum EachView<'a, T> {
    All(T),
    Row(ArrayView1<'a, T>),
}

impl<T: numpy::Element + Copy> Each<'_, T> {
    pub fn view(&self) -> EachView<'_, T> {
        match self {
            Self::All(number) => EachView::All(*number),
            Self::Row(array) => EachView::Row(array.as_array()),
        }
    }
}

impl<T: Copy> EachView<'_, T> {
    pub fn at(&self, row: usize) -> T {
        match self {
            Self::All(number) => *number,
            Self::Row(array) => array[row],
        }
    }
}

/// Indices as int64, which NumPy, torch and numba take.
pub fn indices<T: bytemuck::NoUninit>(rows: &[T]) -> Vec<i64> {
    let words: &[u32] = bytemuck::cast_slice(rows);
    words.par_iter().map(|&word| i64::from(word)).collect()
}

/// Columns of rows of an index and a float. [`NONE`] becomes `none`.
pub fn columns<T: bytemuck::NoUninit>(rows: &[T], none: i64) -> (Vec<i64>, Vec<f32>) {
    let rows: &[[u32; 2]] = bytemuck::cast_slice(rows);
    let index = |word| if word == NONE { none } else { i64::from(word) };
    let column = |&[word, float]: &[u32; 2]| (index(word), f32::from_bits(float));
    rows.par_iter().map(column).unzip()
}

pub fn pairs<T: numpy::Element>(py: Python<'_>, numbers: Vec<T>) -> PyResult<Bound<'_, PyArray2<T>>> {
    let shape = [numbers.len() / 2, 2];
    PyArray1::from_vec(py, numbers).reshape(shape)
}
