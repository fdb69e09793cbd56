"""`heapq`: a list as a heap, the smallest item first.

The algorithms are those of CPython's module, so that equal items come out in the same
order. Items are compared with `<` only.
"""


def heappush(heap, item):
    """Add an item."""
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def heappop(heap):
    """Remove and return the smallest item."""
    last = heap.pop()
    if not heap:
        return last
    smallest = heap[0]
    heap[0] = last
    _sink(heap, 0)
    return smallest


def heapreplace(heap, item):
    """Remove and return the smallest item, then add one."""
    smallest = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return smallest


def heappushpop(heap, item):
    """Add an item, then remove and return the smallest."""
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        _sink(heap, 0)
    return item


def heapify(x):
    """Make a list a heap, where it is."""
    for position in range(len(x) // 2 - 1, -1, -1):
        _sink(x, position)


def nsmallest(n, iterable, key=None):
    """The n smallest items, ascending."""
    return sorted(iterable, key=key)[: max(n, 0)]


def nlargest(n, iterable, key=None):
    """The n largest items, descending."""
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


def _rise(heap, start, position):
    """Move an item towards the root, to its place."""
    item = heap[position]
    while position > start:
        parent = (position - 1) >> 1
        above = heap[parent]
        if not item < above:
            break
        heap[position] = above
        position = parent
    heap[position] = item


def _sink(heap, position):
    """Move the smaller child up until there is none, then the item to its place."""
    end = len(heap)
    start = position
    item = heap[position]
    child = 2 * position + 1
    while child < end:
        right = child + 1
        if right < end and not heap[child] < heap[right]:
            child = right
        heap[position] = heap[child]
        position = child
        child = 2 * position + 1
    heap[position] = item
    _rise(heap, start, position)
