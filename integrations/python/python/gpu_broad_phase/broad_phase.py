"""The broad phase: boxes in, pairs, hits and neighbours out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from . import _arrays as arrays
from . import _native
from ._progress import bar
from .object_set import ObjectSet
from .results import Nearest, Neighbors, QueryResult, RayHits, RayLists, StepResult

Scheme: TypeAlias = Literal["hierarchical", "uniform", "adaptive"]
Backend: TypeAlias = Literal["auto", "gpu", "cpu", "vulkan", "metal", "dx12", "gl"]


def adapters() -> list[dict[str, str]]:
    """Lists the GPUs and software drivers of this machine.

    Returns
    -------
    list of dict
        ``name``, ``backend``, ``kind`` ("discrete", "integrated", "virtual", "software", "other") and ``driver`` of
        each. A GPU may be listed once per backend. To select one, pass a part of its name or its index in this list to
        `BroadPhase` as ``adapter``.

    Raises
    ------
    NoAdapterError
        In a forked process.
    """
    return _native.adapters()


class BroadPhase:
    """Finds overlapping boxes, the boxes that rays hit, and the boxes in or near a place.

    All schemes and backends give the same results. Boxes that only touch overlap. Calls from several threads run one
    after the other. Meanwhile, other Python threads run, and must not write to the arrays. Ctrl-C ends a call when the
    GPU has finished the work it was last given; long calls give it in many parts. Afterwards, `rays` and `query` may
    need a new step.

    Boxes are compared in float32. float64 boxes, rays and queries are rounded outward, so no pair, hit or result is
    missed, but objects apart by less than the rounding may be found, too. Coordinates far from zero, such as UTM, are
    first measured from an origin near most boxes. The origin stays from step to step while it serves, and is 0 if
    float32 holds all numbers. float64 rays and queries of float32 boxes far from zero build the table again once. If
    the rounding still exceeds a hundredth of the median side of the boxes, a `RuntimeWarning` says so. `neighbors` and
    `collision_candidates` are exact in float64.

    Arrays of float32 and float64 are read in place, in any order and with any strides. Other types are converted to
    float64 first.

    Parameters
    ----------
    dimensions : {3, 2}
        Number of axes.
    scheme : {"hierarchical", "uniform", "adaptive"}
        Scheme that assigns boxes to cells. It affects only the speed. "hierarchical" has levels by size and nothing to
        tune. "uniform" has cells of one size. "adaptive" has layers of power-of-two cells.
    cell_size : float, optional
        Cell edge of "uniform", or finest cell edge of "adaptive". Default: derived from the boxes of the first step.
    margin : float
        Distance by which each box grows on each side before the comparison.
    sort : bool
        True for pairs and lists in ascending order, with the same bytes on every backend. Otherwise the order depends
        on the device, and calls are faster.
    backend : {"auto", "gpu", "cpu", "vulkan", "metal", "dx12", "gl"}
        "auto" uses the best hardware GPU with Vulkan, Metal or Direct3D 12, or the CPU if there is none. If the GPU
        cannot bind the boxes of an array, the CPU takes over for good. "gpu" and the names of graphics APIs use the
        best adapter, software drivers included, and raise if there is none.
    adapter : str or int, optional
        Uses only an adapter whose name contains this text, or the adapter at this index of `adapters`.
    invalid : {"raise", "ignore"}
        Raises for boxes, rays and queries with a NaN or with a min above their max, or ignores them.
    max_bytes : int, optional
        Limit on the bytes of a step's GPU buffers. A step that needs more raises `ValueError`.
    timeout : float
        Seconds that a call waits for the GPU before it raises `DeviceError`.
    progress : bool
        True to show a progress bar for calls that take longer than a moment. Needs tqdm. The bar restarts with each
        pass.

    Raises
    ------
    NoAdapterError
        If there is no such GPU.
    ValueError
        For an invalid option.

    Examples
    --------
    >>> broad_phase = BroadPhase(backend="cpu")
    >>> result = broad_phase.step([[0, 0, 0, 1, 1, 1], [0.5, 0.5, 0.5, 2, 2, 2]])
    >>> result.pairs
    array([[0, 1]])
    >>> broad_phase.rays([[0.25, 0.25, 9]], [[0, 0, -1]]).t
    array([8.], dtype=float32)
    """

    def __init__(
        self,
        *,
        dimensions: Literal[2, 3] = 3,
        scheme: Scheme = "hierarchical",
        cell_size: float | None = None,
        margin: float = 0.0,
        sort: bool = True,
        backend: Backend = "auto",
        adapter: str | int | None = None,
        invalid: Literal["raise", "ignore"] = "raise",
        max_bytes: int | None = None,
        timeout: float = 600.0,
        progress: bool = False,
    ) -> None:
        if invalid not in ("raise", "ignore"):
            raise ValueError(f"invalid is {invalid!r}, and 'raise' or 'ignore' is needed")
        if dimensions not in (2, 3):
            raise ValueError(f"dimensions is {dimensions!r}, and 2 or 3 is needed")
        if backend == "cpu" and adapter is not None:
            raise ValueError("adapter: the CPU has none")
        if not 0.0 <= timeout < 1e9:
            raise ValueError(f"timeout is {timeout}, and seconds below 10^9 are needed")
        for name, flag in (("sort", sort), ("progress", progress)):
            if not isinstance(flag, (bool, np.bool_)):
                raise TypeError(f"{name} is {flag!r}, and a bool is needed")
        self._engine = _native.Engine(
            dimensions=dimensions,
            scheme=scheme,
            cell_size=cell_size,
            margin=margin,
            sort=sort,
            backend=backend,
            adapter=None if adapter is None else str(adapter),
            max_bytes=None if max_bytes is None else arrays.whole("max_bytes", max_bytes, 1, (1 << 64) - 1),
            timeout=timeout,
        )
        self._dimensions = dimensions
        self._margin = margin
        self._sort = bool(sort)
        self._checked = invalid == "raise"
        self._progress = progress
        self._is_coarse = False

    def __repr__(self) -> str:
        adapter = self.adapter
        where = "cpu" if adapter is None else f"{adapter['name']} by {adapter['backend']}"
        return f"<BroadPhase in {self._dimensions}D on {where}>"

    def __reduce__(self) -> Any:
        raise TypeError("a BroadPhase cannot be pickled: make one per process. Results can be pickled")

    @property
    def dimensions(self) -> int:
        """Number of axes, 2 or 3."""
        return self._dimensions

    @property
    def adapter(self) -> dict[str, str] | None:
        """The GPU in use, as in `adapters`. None on the CPU."""
        return self._engine.adapter

    def step(
        self,
        boxes: npt.ArrayLike | ObjectSet,
        *,
        layers: npt.ArrayLike | None = None,
        masks: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        static: npt.ArrayLike | None = None,
        worlds: npt.ArrayLike | None = None,
        excluded: npt.ArrayLike | None = None,
        pairs: bool = True,
    ) -> StepResult:
        """Finds the pairs of boxes, and stores the boxes for `rays`, `query` and `why`.

        Parameters
        ----------
        boxes : array_like or ObjectSet
            Shape (n, 6) with min x, y, z and max x, y, z, or (n, 2, 3), or (n, 3) for points; in 2D (n, 4), (n, 2, 2)
            or (n, 2). Infinite bounds are allowed, and float64 coordinates may be far from zero. An `ObjectSet` already
            has layers, masks, groups and static flags, and has one world, so only `excluded` and `pairs` may be passed
            with it.
        layers, masks : array_like of int, optional
            16 bits per box, or for all boxes: the layers of the box, and the layers that it may pair with. Layer 3 is
            ``1 << 3``. Two boxes pair only if the layers of each share a bit with the mask of the other. Default:
            0xFFFF, all layers.
        groups : array_like of int, optional
            A number below 2^30 per box. Boxes of the same group never pair. Default: 0, no group.
        static : array_like of bool, optional
            Two static boxes never pair. If most boxes never move, an `ObjectSet` is faster.
        worlds : array_like of int, optional
            World of each box, from 0 to 1,048,575, best without gaps, or -1 for a box in all worlds, such as a floor.
            Boxes of different worlds never pair. Pairs of two boxes in all worlds come last, after those of
            `StepResult.world_offsets`.
        excluded : array_like of int, optional
            Shape (k, 2): pairs of rows to exclude, in any order. Pairs with a row that does not exist are ignored. With
            an `ObjectSet`, `ObjectSet.objects_of` converts handles to rows.
        pairs : bool
            False to find no pairs. The step then only prepares for rays and queries.

        Returns
        -------
        StepResult

        Raises
        ------
        ValueError
            For a wrong shape, a number out of range, or a box with a NaN or a min above its max. The message names the
            row.
        TypeError
            For values that are not numbers.
        OverflowError
            For more than 2^32 - 2 pairs. `rays` and `query` raise it for as large a number of hits or results.
        DeviceError
            If the GPU fails.
        """
        exclusions = None if excluded is None else arrays.index_table("excluded", excluded, 2, 1 << 32)
        with bar("pairs", self._progress) as progress:
            if isinstance(boxes, ObjectSet):
                of_boxes = {"layers": layers, "masks": masks, "groups": groups, "static": static, "worlds": worlds}
                for name, given in of_boxes.items():
                    if given is not None:
                        raise ValueError(f"{name}: an ObjectSet takes them when boxes are inserted, and has one world")
                if boxes.dimensions != self._dimensions:
                    raise ValueError(f"the set is in {boxes.dimensions}D, and this in {self._dimensions}D")
                (found, _, _, counts, coarse), events = _native.step_objects(
                    self._engine, boxes._table, excluded=exclusions, finds_pairs=pairs, progress=progress
                )
                self._warn(coarse)
                began, ended = (None, None) if events is None else events
                return StepResult(found, counts, None, began, ended)
            lower, upper = arrays.corners("boxes", boxes, self._dimensions)
            rows = len(lower)
            world_words, world_count = arrays.worlds(worlds, rows, least=-1)
            found, of_worlds, offsets, counts, coarse = _native.step(
                self._engine,
                lower=lower,
                upper=upper,
                layers=arrays.layer_words(rows, layers, masks),
                groups=arrays.group_words(rows, groups, static),
                worlds=world_words,
                # Rounded up, so that steps with similar numbers of worlds share pipelines.
                world_count=1 if world_words is None else max(2, 1 << (world_count - 1).bit_length()),
                excluded=exclusions,
                finds_pairs=pairs,
                checked=self._checked,
                progress=progress,
            )
        self._warn(coarse)
        if worlds is None or not pairs:
            return StepResult(found, counts)
        if world_words is None:
            of_worlds, offsets = np.array([len(found)]), np.array([0, len(found)])
        own_offsets = offsets[: world_count + 1] if self._sort else None
        return StepResult(found, counts, of_worlds[:world_count], world_offsets=own_offsets)

    def _warn(self, coarse: list[float] | None) -> None:
        """Warns of coarse rounding, but not again for each frame that has it."""
        if coarse is not None and not self._is_coarse:
            step, side = coarse
            text = (
                f"coordinates are rounded by up to {step:.2g}, and the median side of the boxes is {side:.2g}: results "
                "are complete, but boxes apart by less than the rounding may pair or be hit. Compare what is found "
                "again in float64, or pass places far apart to steps of their own"
            )
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        self._is_coarse = coarse is not None

    @overload
    def rays(
        self,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        *,
        t_min: npt.ArrayLike = ...,
        t_max: npt.ArrayLike = ...,
        mode: Literal["closest"] = ...,
        half_extents: npt.ArrayLike | None = ...,
        layers: npt.ArrayLike | None = ...,
        masks: npt.ArrayLike | None = ...,
        worlds: npt.ArrayLike | None = ...,
    ) -> RayHits: ...
    @overload
    def rays(
        self,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        *,
        t_min: npt.ArrayLike = ...,
        t_max: npt.ArrayLike = ...,
        mode: Literal["any"],
        half_extents: npt.ArrayLike | None = ...,
        layers: npt.ArrayLike | None = ...,
        masks: npt.ArrayLike | None = ...,
        worlds: npt.ArrayLike | None = ...,
    ) -> npt.NDArray[np.bool_]: ...
    @overload
    def rays(
        self,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        *,
        t_min: npt.ArrayLike = ...,
        t_max: npt.ArrayLike = ...,
        mode: Literal["all"],
        half_extents: npt.ArrayLike | None = ...,
        layers: npt.ArrayLike | None = ...,
        masks: npt.ArrayLike | None = ...,
        worlds: npt.ArrayLike | None = ...,
    ) -> RayLists: ...
    def rays(
        self,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        *,
        t_min: npt.ArrayLike = 0.0,
        t_max: npt.ArrayLike = np.inf,
        mode: Literal["closest", "any", "all"] = "closest",
        half_extents: npt.ArrayLike | None = None,
        layers: npt.ArrayLike | None = None,
        masks: npt.ArrayLike | None = None,
        worlds: npt.ArrayLike | None = None,
    ) -> RayHits | RayLists | npt.NDArray[np.bool_]:
        """Finds the boxes of the last step that each ray hits.

        A ray consists of the points ``origin + t * direction`` for ``t_min <= t <= t_max``. Every hit is found, in
        float64, too: half extents cover the rounding to float32. A box missed by 2^-21 of the distance may also count
        as hit, equally on every backend: from 1e6 away, 30 % of rays found a wrong closest unit box (4 % with a plain
        float32 slab test), from 1e5 4 % (0.3 %), so begin rays near the boxes.

        Parameters
        ----------
        origins, directions : array_like
            Shape (n, 3), in 2D (n, 2). One of the two may be a single vector for all rays, of shape (3,), in 2D (2,).
            Directions need not be normalized. A ray with direction zero hits the boxes that contain its origin.
        t_min, t_max : array_like
            A number per ray, or for all rays. A negative `t_min` counts as 0.
        mode : {"closest", "any", "all"}
            Hits to find: the first hit, whether there is one, or all. On a GPU, the first call with another mode than
            before sorts the boxes again.
        half_extents : array_like, optional
            Shape (n, 3), in 2D (n, 2): half extents of a box that is swept along each ray.
        layers, masks : array_like of int, optional
            As for `step`: the layers of a ray, and the layers that it may hit.
        worlds : array_like of int, optional
            World of each ray, or of all rays. Default: 0.

        Returns
        -------
        RayHits, RayLists, or an array of bool
            For "closest", "all" and "any".

        Raises
        ------
        RuntimeError
            Before the first step.
        ValueError
            For a wrong shape or a number out of range. The message names the row.
        """
        axes = self._dimensions
        starts, ways = arrays.vectors(origins, directions, axes)
        rows = len(starts)
        extents = None if half_extents is None else arrays.table("half_extents", half_extents, axes, rows)
        with bar("rays", self._progress) as progress:
            objects, t, words = _native.rays(
                self._engine,
                origins=starts,
                directions=ways,
                t_min=arrays.per_row("t_min", t_min, rows),
                t_max=arrays.per_row("t_max", t_max, rows),
                half_extents=extents,
                layers=arrays.layer_words(rows, layers, masks),
                worlds=arrays.each(0 if worlds is None else arrays.indices("worlds", worlds, 1 << 32, rows)),
                mode=mode,
                checked=self._checked,
                progress=progress,
            )
        if mode == "any":
            return words.astype(np.bool_)
        return RayHits(objects, t) if mode == "closest" else RayLists(words, objects, t)

    @overload
    def query(
        self,
        *,
        boxes: npt.ArrayLike | None = ...,
        points: npt.ArrayLike | None = ...,
        radius: npt.ArrayLike | None = ...,
        k: None = ...,
        layers: npt.ArrayLike | None = ...,
        masks: npt.ArrayLike | None = ...,
        groups: npt.ArrayLike | None = ...,
        worlds: npt.ArrayLike | None = ...,
    ) -> QueryResult: ...
    @overload
    def query(
        self,
        *,
        boxes: npt.ArrayLike | None = ...,
        points: npt.ArrayLike | None = ...,
        radius: npt.ArrayLike | None = ...,
        k: int,
        layers: npt.ArrayLike | None = ...,
        masks: npt.ArrayLike | None = ...,
        groups: npt.ArrayLike | None = ...,
        worlds: npt.ArrayLike | None = ...,
    ) -> Nearest: ...
    def query(
        self,
        *,
        boxes: npt.ArrayLike | None = None,
        points: npt.ArrayLike | None = None,
        radius: npt.ArrayLike | None = None,
        k: int | None = None,
        layers: npt.ArrayLike | None = None,
        masks: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        worlds: npt.ArrayLike | None = None,
    ) -> QueryResult | Nearest:
        """Finds the boxes of the last step that overlap boxes, contain points, or are within a radius of either.

        Distances are measured between boxes, in float32. A box whose distance is within 4 units in the last place of
        the radius may or may not be found. float64 boxes, points and radii are rounded outward first, from the origin
        of the boxes (see `BroadPhase`), so distances may be smaller by the rounding.

        Parameters
        ----------
        boxes, points : array_like
            Queries, as only one of the two: boxes as for `step`, or points of shape (n, 3), in 2D (n, 2).
        radius : array_like, optional
            Largest distance from the query, per query or for all. Default: 0, or unlimited with `k`.
        k : int, optional
            Number of nearest boxes to find in place of all, at most 1,024.
        layers, masks, groups : array_like of int, optional
            As for `step`. Boxes with the group of the query are not found.
        worlds : array_like of int, optional
            World of each query, or of all queries. Default: 0.

        Returns
        -------
        QueryResult, or Nearest with `k`: distances and rows, as of scipy's ``KDTree.query``

        Raises
        ------
        RuntimeError
            Before the first step.
        ValueError
            For a wrong shape or a number out of range. The message names the row.
        """
        if (boxes is None) == (points is None):
            raise TypeError("query: either boxes or points are needed")
        name = "boxes" if points is None else "points"
        if points is None:
            assert boxes is not None
            lower, upper = arrays.corners(name, boxes, self._dimensions)
        else:
            lower = upper = arrays.table(name, points, self._dimensions)
        rows = len(lower)
        if k is not None:
            k = arrays.whole("k", k, 1, 1024)
        if radius is None:
            radius = 0.0 if k is None else np.inf
        with bar("queries", self._progress) as progress:
            objects, squares, offsets = _native.query(
                self._engine,
                name=name,
                lower=lower,
                upper=upper,
                radius=arrays.per_row("radius", radius, rows),
                layers=arrays.layer_words(rows, layers, masks),
                groups=arrays.group_words(rows, groups, None),
                worlds=arrays.each(0 if worlds is None else arrays.indices("worlds", worlds, 1 << 32, rows)),
                nearest=k,
                checked=self._checked,
                progress=progress,
            )
        if k is None:
            return QueryResult(offsets, objects)
        return Nearest(np.sqrt(squares).reshape(rows, k), objects.reshape(rows, k))

    def neighbors(
        self,
        points: npt.ArrayLike,
        radius: float,
        *,
        cell: npt.ArrayLike | None = None,
        pbc: npt.ArrayLike | None = None,
        worlds: npt.ArrayLike | None = None,
        half: bool = False,
        vectors: bool = False,
    ) -> Neighbors:
        """Finds the points within a radius of each other, including all periodic images.

        Distances are exact in float64 for the given points. A point is a neighbour of its own images, but not of
        itself. `rays` and `query` need a new step afterwards.

        Parameters
        ----------
        points : array_like
            Shape (n, 3), in 2D (n, 2). Points may be outside the cell.
        radius : float
            Largest distance of neighbours. It may exceed the cell.
        cell : array_like, optional
            Edge of a cube, or lengths of shape (3,), or vectors in rows of shape (3, 3), as ``ase.Atoms.cell``. Shape
            (w, 3, 3) for a cell per world. In 2D, 2 replaces 3.
        pbc : array_like of bool, optional
            True for periodic axes: one bool, or shape (3,), or (w, 3). Default: axes whose cell vector is not zero.
        worlds : array_like of int, optional
            World of each point, such as the index of its structure, from 0 to 1,048,575, best without gaps. Points of
            different worlds are no neighbours.
        half : bool
            True to list each pair once, for the point with the smaller row. Of the images of a point itself, half are
            listed: those whose first nonzero shift is positive.
        vectors : bool
            True to return the vectors to the images, too.

        Returns
        -------
        Neighbors
            Lists per point (CSR), with distances, shifts and, if requested, vectors.

        Raises
        ------
        ValueError
            For a wrong shape, a number that is not finite, a negative radius, vectors of periodic axes that are zero or
            in one plane, or points 2^29 or more cells away. The message names the row.
        OverflowError
            For more than 2^26 images, or 2^32 - 2 pairs.

        Examples
        --------
        >>> near = BroadPhase(backend="cpu").neighbors([[0.1, 0, 0], [0.9, 0, 0]], 0.3, cell=[1, 0, 0])
        >>> near.j, near.shifts[:, 0]
        (array([1, 0]), array([-1,  1], dtype=int32))
        """
        axes = self._dimensions
        places = arrays.table("points", points, axes)
        radius = arrays.length("radius", radius)
        world_words, world_count = arrays.worlds(worlds, len(places))
        cells = arrays.cells(cell, pbc, axes, None if worlds is None else world_count)
        with bar("neighbors", self._progress) as progress:
            offsets, objects, distances, shifts, to_images = _native.neighbors(
                self._engine,
                places,
                radius=radius,
                cells=cells,
                worlds=world_words,
                half=half,
                vectors=vectors,
                progress=progress,
            )
        return Neighbors(
            offsets, objects, distances, shifts[:, :axes], None if to_images is None else to_images[:, :axes]
        )

    def why(self, a: int, b: int) -> str:
        """Returns a sentence that names the rule by which two boxes of the last step are a pair or not.

        Parameters
        ----------
        a, b : int
            Rows of the boxes.

        Raises
        ------
        RuntimeError
            Before the first step, and after `neighbors` or `collision_candidates`.
        ValueError
            If a row has no box.
        """
        return _native.why(self._engine, arrays.whole("a", a, 0, (1 << 32) - 1), arrays.whole("b", b, 0, (1 << 32) - 1))

    def stats(self) -> Mapping[str, Any]:
        """Returns counts and settings of the last step.

        Returns
        -------
        dict
            The counts of `StepResult`, and ``backend``, ``adapter``, ``scheme``, ``cell_size``, ``origin`` (coordinates
            from which those of the boxes are measured, a number per axis), ``device_bytes`` (memory of all GPU buffers)
            and ``seconds`` (duration of the last call, without the Python part).
        """
        adapter = self.adapter
        return {
            "backend": "cpu" if adapter is None else adapter["backend"],
            "adapter": None if adapter is None else adapter["name"],
            **self._engine.stats(),
        }
