"""The broad phase: boxes in, pairs, hits and neighbours out."""

from __future__ import annotations

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
    """The GPUs of this machine, and drivers that are software.

    Returns
    -------
    list of dict
        ``name``, ``backend``, ``kind`` ("discrete", "integrated", "virtual", "software", "other") and ``driver`` of
        each. A GPU may stand there once per backend. A part of the name, or the place in this list, goes to
        `BroadPhase` as ``adapter``.

    Raises
    ------
    NoAdapterError
        In a process that was forked.
    """
    return _native.adapters()


class BroadPhase:
    """Finds which boxes overlap, which of them rays meet, and what lies near a place.

    All schemes and backends give the same answers. Boxes are closed: those that only touch overlap. Calls from several
    threads come one after the other. Other threads of Python run meanwhile, and must not write to the arrays. Ctrl-C ends
    a call. A GPU then still does what it was handed last, of which long calls have many parts, and the next `rays` or
    `query` may need a new step.

    Numbers are float32 within. float64 boxes are rounded outward, so that no pair is missed, and a pair that is nearer
    than the rounding may be there as well. `neighbors` and `collision_candidates` are exact in float64. Arrays of
    float32 and float64 are read where they lie, in any order and with any strides. Other numbers are copied first.

    Parameters
    ----------
    dimensions : {3, 2}
        How many axes there are.
    scheme : {"hierarchical", "uniform", "adaptive"}
        How boxes are put into cells, a choice about time alone. "hierarchical" has levels by size and nothing to tune.
        "uniform" has cells of one size. "adaptive" has layers of power-of-two cells.
    cell_size : float, optional
        The edge of a cell of "uniform", or of the finest cell of "adaptive". Where it is left out, the boxes of the
        first step tell it.
    margin : float
        How much each box is grown on each side before boxes are compared.
    sort : bool
        Whether pairs, and the rows of each list, come ascending, with the same bytes on every backend. Without it the
        order depends on the device, and calls are faster.
    backend : {"auto", "gpu", "cpu", "vulkan", "metal", "dx12", "gl"}
        "auto" is the best hardware GPU that has Vulkan, Metal or Direct3D 12, and the CPU where there is none. The CPU
        also takes over, for good, from a GPU that cannot bind the boxes of an array. "gpu" and the names of interfaces
        take the best adapter, software drivers among them, and raise where there is none.
    adapter : str or int, optional
        Only an adapter whose name contains this text, or the one at this place of `adapters`.
    invalid : {"raise", "ignore"}
        What happens to boxes, rays and queries with a NaN, or with a min above their max. Those that are ignored take no
        part.
    max_bytes : int, optional
        How much memory the buffers on the GPU may take. Larger answers then come in parts.
    timeout : float
        Seconds that a call waits for the GPU before it raises `DeviceError`.
    progress : bool
        Whether calls that take longer than a moment show a bar, where tqdm is installed. It begins anew with each pass.

    Raises
    ------
    NoAdapterError
        Where there is no such GPU.
    ValueError
        For an option that cannot work.

    Examples
    --------
    >>> broad_phase = BroadPhase(backend="cpu")
    >>> result = broad_phase.step([[0, 0, 0, 1, 1, 1], [0.5, 0.5, 0.5, 2, 2, 2]])
    >>> result.pairs
    array([[0, 1]], dtype=uint32)
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
        self._checked = invalid == "raise"
        self._progress = progress

    def __repr__(self) -> str:
        adapter = self.adapter
        where = "cpu" if adapter is None else f"{adapter['name']} by {adapter['backend']}"
        return f"<BroadPhase in {self._dimensions}D on {where}>"

    def __reduce__(self) -> Any:
        raise TypeError("a BroadPhase cannot be pickled: make one per process. Results can be pickled")

    @property
    def dimensions(self) -> int:
        """2 or 3."""
        return self._dimensions

    @property
    def adapter(self) -> dict[str, str] | None:
        """The GPU in use, as `adapters` tells it; None on the CPU."""
        return self._engine.adapter

    def step(
        self,
        boxes: npt.ArrayLike | ObjectSet,
        *,
        layers: npt.ArrayLike | None = None,
        masks: npt.ArrayLike | None = None,
        owners: npt.ArrayLike | None = None,
        static: npt.ArrayLike | None = None,
        worlds: npt.ArrayLike | None = None,
        excluded: npt.ArrayLike | None = None,
        pairs: bool = True,
    ) -> StepResult:
        """Finds the pairs of boxes, and keeps the boxes for `rays`, `query` and `why`.

        Parameters
        ----------
        boxes : array_like or ObjectSet
            Shape (n, 6) with min x, y, z and max x, y, z, or (n, 2, 3), or (n, 3) for points; in 2D (n, 4), (n, 2, 2),
            or (n, 2). Infinite bounds are allowed. An `ObjectSet` has been told layers, masks, owners and what is static
            when boxes were inserted, and has one world. Of the arguments below it takes `excluded` and `pairs`.
        layers, masks : array_like of int, optional
            A bit mask of 16 bits per box, or for all boxes: the layers that it is in, and those that it meets. Layer 3 is
            ``1 << 3``. Two boxes pair where each one's layers meet the other's mask. Default: 0xFFFF, all.
        owners : array_like of int, optional
            A number below 2^30 per box. Boxes of one owner never pair. 0, the default, is no owner.
        static : array_like of bool, optional
            Two static boxes never pair. Where most boxes never move, an `ObjectSet` saves their work.
        worlds : array_like of int, optional
            The world of each box, from 0 to 1,048,575, best without gaps. Boxes of different worlds never meet.
        excluded : array_like of int, optional
            Shape (k, 2): rows of pairs that are not wanted, in any order. Rows that do not exist are ignored. With an
            `ObjectSet`, `ObjectSet.objects_of` tells rows of handles.
        pairs : bool
            Whether pairs are looked for. Without them the step only gets ready for rays and queries.

        Returns
        -------
        StepResult

        Raises
        ------
        ValueError
            For a wrong shape, a number that does not fit, or a box with a NaN or a min above its max, with its row.
        TypeError
            For something other than numbers.
        OverflowError
            For more than 2^32 - 2 pairs. `rays` and `query` raise it for as many hits or results.
        DeviceError
            Where the GPU fails.
        """
        exclusions = None if excluded is None else arrays.index_table("excluded", excluded, 2, 1 << 32)
        with bar("pairs", self._progress) as progress:
            if isinstance(boxes, ObjectSet):
                of_boxes = {"layers": layers, "masks": masks, "owners": owners, "static": static, "worlds": worlds}
                for name, given in of_boxes.items():
                    if given is not None:
                        raise ValueError(f"{name}: an ObjectSet takes them when boxes are inserted, and has one world")
                if boxes.dimensions != self._dimensions:
                    raise ValueError(f"the set is in {boxes.dimensions}D, and this in {self._dimensions}D")
                (found, _, counts), events = _native.step_objects(
                    self._engine, boxes._table, excluded=exclusions, pairs=pairs, progress=progress
                )
                began, ended = (None, None) if events is None else events
                return StepResult(found, counts, None, began, ended)
            lower, upper = arrays.corners("boxes", boxes, self._dimensions)
            rows = len(lower)
            world_words, world_count = None, 1
            if worlds is not None:
                world_words = arrays.indices("worlds", worlds, 1 << 20, rows)
                if world_words.shape == ():
                    raise ValueError("worlds has the shape (), and a world per box is needed")
                world_count = int(world_words.max()) + 1 if rows > 0 else 1
            found, of_worlds, counts = _native.step(
                self._engine,
                lower=lower,
                upper=upper,
                layers=arrays.layer_words(rows, layers, masks),
                owners=arrays.owner_words(rows, owners, static),
                worlds=None if world_count == 1 else world_words,
                # Rounded up, so that steps with similar numbers of worlds share pipelines.
                world_count=1 << (world_count - 1).bit_length(),
                excluded=exclusions,
                pairs=pairs,
                checked=self._checked,
                progress=progress,
            )
        world_pairs = None
        if worlds is not None and pairs:
            world_pairs = np.array([len(found)], np.uint32) if world_count == 1 else of_worlds[:world_count]
        return StepResult(found, counts, world_pairs)

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
        """Finds which boxes of the last step each ray meets.

        A ray is the points ``origin + t * direction`` for ``t_min <= t <= t_max``. Numbers are rounded to float32. No box
        is missed. One that a ray misses by less than the rounding of its way may count as hit, on every backend alike.

        Parameters
        ----------
        origins, directions : array_like
            Shape (n, 3), in 2D (n, 2), or one of both a single vector for all rays, of shape (3,), in 2D (2,). Directions
            need not have length one. A zero direction asks what is at the origin.
        t_min, t_max : array_like
            A number per ray, or for all rays. A negative `t_min` counts as 0.
        mode : {"closest", "any", "all"}
            Which hits are wanted: the first one, whether there is one, or all. On a GPU the first call with another
            mode than before sorts the boxes once more.
        half_extents : array_like, optional
            Shape (n, 3), in 2D (n, 2): half the edges of a box that is swept along each ray.
        layers, masks : array_like of int, optional
            As of `step`: the layers that a ray is in, and those that it meets.
        worlds : array_like of int, optional
            The world of each ray, or of all rays. Default: 0.

        Returns
        -------
        RayHits, RayLists, or an array of bool
            For "closest", "all" and "any".

        Raises
        ------
        RuntimeError
            Before the first step.
        ValueError
            For a wrong shape or a number that does not fit, with its row.
        """
        axes = self._dimensions
        starts, ways = arrays.vectors(origins, directions, axes)
        rows = len(starts)
        extents = None if half_extents is None else arrays.table("half_extents", half_extents, axes, rows)
        with bar("rays", self._progress) as progress:
            hits, words = _native.rays(
                self._engine,
                origins=starts,
                directions=ways,
                t_min=arrays.per_row("t_min", t_min, rows, np.float32),
                t_max=arrays.per_row("t_max", t_max, rows, np.float32),
                half_extents=extents,
                layers=arrays.layer_words(rows, layers, masks),
                worlds=arrays.each(0 if worlds is None else arrays.indices("worlds", worlds, 1 << 32, rows)),
                mode=mode,
                checked=self._checked,
                progress=progress,
            )
        if mode == "any":
            return words.astype(np.bool_)
        # A row is an object and a float. The object of a ray without a hit is -1.
        objects, t = hits[:, 0].view(np.int32), hits[:, 1].view(np.float32)
        return RayHits(objects, t) if mode == "closest" else RayLists(words.astype(np.int64), objects, t)

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
        owners: npt.ArrayLike | None = ...,
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
        owners: npt.ArrayLike | None = ...,
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
        owners: npt.ArrayLike | None = None,
        worlds: npt.ArrayLike | None = None,
    ) -> QueryResult | Nearest:
        """Finds which boxes of the last step meet boxes, hold points, or lie within a radius of either.

        Distances are those between closed boxes, in float32: what is within 4 units in the last place of the radius may
        be found or not. Boxes and radii of float64 are rounded outward first. Far from the origin that rounding is
        coarse: take the centre of the positions off, in float64.

        Parameters
        ----------
        boxes, points : array_like
            What is asked, one of both: boxes as of `step`, or points of shape (n, 3), in 2D (n, 2).
        radius : array_like, optional
            How far from it boxes may be: a number per query, or for all. Default: 0, and with `k` no limit.
        k : int, optional
            So many of the nearest are wanted, in place of all; at most 1,024.
        layers, masks, owners : array_like of int, optional
            As of `step`. Boxes of a query's owner are not found.
        worlds : array_like of int, optional
            The world of each query, or of all queries. Default: 0.

        Returns
        -------
        QueryResult, or Nearest with `k`

        Raises
        ------
        RuntimeError
            Before the first step.
        ValueError
            For a wrong shape or a number that does not fit, with its row.
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
            near, objects, offsets = _native.query(
                self._engine,
                name=name,
                lower=lower,
                upper=upper,
                radius=arrays.per_row("radius", radius, rows, np.float64),
                layers=arrays.layer_words(rows, layers, masks),
                owners=arrays.owner_words(rows, owners, None),
                worlds=arrays.each(0 if worlds is None else arrays.indices("worlds", worlds, 1 << 32, rows)),
                nearest=k,
                checked=self._checked,
                progress=progress,
            )
        if k is None:
            return QueryResult(offsets.astype(np.int64), objects)
        found = near[:, 0].view(np.int32).reshape(rows, k)
        return Nearest(found, np.sqrt(near[:, 1].view(np.float32)).reshape(rows, k))

    def neighbors(
        self,
        points: npt.ArrayLike,
        radius: float,
        *,
        period: npt.ArrayLike | None = None,
        half: bool = False,
    ) -> Neighbors:
        """Finds which points lie within a radius of each other.

        Distances are exact in float64, of the points as they are given. On an axis with a period the nearest image
        counts alone, however large the radius is. For cells that are smaller than twice the radius or not rectangular, and
        for a radius per point, see `gpu_broad_phase.ase.neighbor_list`. `rays` and `query` need a new step afterwards.

        Parameters
        ----------
        points : array_like
            Shape (n, 3), in 2D (n, 2). Points may lie outside of the period.
        radius : float
            The largest distance that still counts.
        period : array_like, optional
            The period of the space, one for all axes or one per axis. 0 and infinity stand for none.
        half : bool
            Whether only neighbours with a larger row than the point itself are wanted: each pair once, not twice.

        Returns
        -------
        Neighbors
            Lists per point (CSR), with distances and shifts. A point is no neighbour of itself.

        Raises
        ------
        ValueError
            For a wrong shape, a point or a radius that is not finite, a period that is negative, points that lie 2^31
            periods apart, or numbers past the range of float32.
        """
        axes = self._dimensions
        places = arrays.table("points", points, axes)
        radius = arrays.length("radius", radius)
        periods = [np.inf] * 3
        if period is not None:
            lengths = arrays.floats("period", period)
            if lengths.shape not in ((), (axes,)):
                raise ValueError(f"period has the shape {lengths.shape}, and () or ({axes},) is needed")
            for axis, length in enumerate(np.broadcast_to(lengths, axes)):
                if not length >= 0.0:
                    raise ValueError(f"period is {length} on axis {axis}, which is no length")
                periods[axis] = float(length) or np.inf
                with np.errstate(invalid="ignore", over="ignore"):
                    turns = np.ptp(places[:, axis].astype(np.float64)) / periods[axis] if len(places) > 0 else 0.0
                # Positions that are not finite are reported later, with their row.
                if 1 << 31 <= turns < np.inf:
                    raise ValueError(f"period is {length} on axis {axis}, and points lie 2^31 of them apart")
        with bar("neighbors", self._progress) as progress:
            offsets, objects, distances, shifts = _native.neighbors(
                self._engine, places, radius=radius, periods=periods, half=half, progress=progress
            )
        if period is None or np.isinf(periods).all():
            shifts = np.zeros((len(objects), 3), np.int32)
        return Neighbors(offsets, objects, distances, shifts[:, :axes])

    def why(self, a: int, b: int) -> str:
        """Returns a sentence with the rule that decides whether two boxes of the last step are a pair.

        Parameters
        ----------
        a, b : int
            Rows of the boxes.

        Raises
        ------
        RuntimeError
            Before the first step, and after `neighbors` or `collision_candidates`.
        ValueError
            Where there is no such box.
        """
        return _native.why(self._engine, arrays.whole("a", a, 0, (1 << 32) - 1), arrays.whole("b", b, 0, (1 << 32) - 1))

    def stats(self) -> Mapping[str, Any]:
        """What the last step counted, and what it was made with.

        Returns
        -------
        dict
            The counts of `StepResult`, and ``backend``, ``adapter``, ``scheme``, ``cell_size``, ``device_bytes``, the
            memory of all buffers on the GPU, and ``seconds``, how long the last answer took without what Python adds.
        """
        adapter = self.adapter
        return {
            "backend": "cpu" if adapter is None else adapter["backend"],
            "adapter": None if adapter is None else adapter["name"],
            **self._engine.stats(),
        }
