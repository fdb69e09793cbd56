// Call stacks with what each cost, as a tree and as the rectangles of a flame graph.
//
// Frames of one function are one box, whichever of its lines stands on the stack: lines
// are the source's business, and it has a column for them.

import {big, hex} from './format.js';

// What is paid before an actor runs: the transaction itself, its bytes.
const BEFORE = 'before any call';
const KINDS = {
  RECEIPT_KIND_TRANSACTION: 'transaction',
  RECEIPT_KIND_FIRE: 'fire',
  RECEIPT_KIND_ENGINE_MESSAGE: 'message',
  RECEIPT_KIND_MAILBOX_MESSAGE: 'message',
  RECEIPT_KIND_AGENT: 'agent',
};

function makeBox(key, parent, about) {
  return {key, parent, ...about, own: 0n, total: 0n, executions: 0n, children: new Map()};
}

export const makeRoot = () => makeBox('', null, {name: 'all'});

function childOf(box, key, about) {
  if (!box.children.has(key)) {
    box.children.set(key, makeBox(box.key ? `${box.key}/${key}` : key, box, about));
  }
  return box.children.get(key);
}

// Add one message of folded stacks to a tree; `unit` is `cycles` or `cells`.
export function addStacks(root, {frames = [], stacks = []}, unit) {
  for (const stack of stacks) {
    const cost = big(stack[unit]);
    if (!cost) continue;
    const kind = KINDS[stack.kind] ?? 'execution';
    const entry = {name: stack.handler || '(default handler)', actor: stack.actor, kind};
    const path = [[`${kind}:${hex(stack.actor)}:${stack.handler ?? ''}`, entry]];
    for (const index of stack.frames ?? []) {
      const {name, actor} = frames[index];
      const about = {name: name || '<module>', actor, isHostCall: !actor};
      path.push([`${hex(actor)}:${name ?? ''}`, about]);
    }
    if (path.length === 1) path.push(['', {name: BEFORE}]);
    let box = root;
    root.total += cost;
    for (const [key, about] of path) {
      box = childOf(box, key || BEFORE, about);
      box.total += cost;
      box.executions += big(stack.executions);
    }
    box.own += cost;
  }
}

export function find(root, key) {
  if (!key) return root;
  for (const box of every(root)) if (box.key === key) return box;
  return null;
}

export function* every(box) {
  yield box;
  for (const child of box.children.values()) yield* every(child);
}

const ranked = (box) => [...box.children.values()].sort((a, b) => (a.total < b.total ? 1 : -1));
const share = (part, whole) => Number((part * 1_000_000n) / (whole || 1n)) / 1_000_000;

// The boxes to draw below `top`, each with its row, where it begins and its width, in
// parts of the whole; those narrower than `least` are left out, with what is above them.
export function layout(top, least) {
  const drawn = [];
  const place = (box, row, left, width) => {
    drawn.push({box, row, left, width});
    let at = left;
    for (const child of ranked(box)) {
      const part = share(child.total, top.total);
      if (part >= least) place(child, row + 1, at, part);
      at += part;
    }
  };
  place(top, 0, 0, 1);
  return drawn;
}

// The dearest functions: what each cost by itself, and with all that it called. A
// function that stands on a stack twice counts once.
export function functions(root) {
  const found = new Map();
  const walk = (box, above) => {
    for (const child of box.children.values()) {
      const {name, actor, isHostCall, kind} = child;
      if (kind) {
        walk(child, above);
        continue;
      }
      const key = `${hex(actor)}:${name}`;
      const row = found.get(key) ?? {key, name, actor, isHostCall, own: 0n, total: 0n};
      found.set(key, row);
      row.own += child.own;
      if (!above.has(key)) row.total += child.total;
      walk(child, new Set([...above, key]));
    }
  };
  walk(root, new Set());
  return [...found.values()].sort((a, b) => (a.own < b.own ? 1 : -1));
}
