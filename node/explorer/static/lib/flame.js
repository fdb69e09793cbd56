// Call stacks with what each cost, as a tree and as the rectangles of a flame graph.
//
// Frames of one function are one box, whichever of its lines stands on the stack: lines
// are the source's business, and it has a column for them. Actors of one code are one,
// too: a thousand of them do the same.

import {big, hex} from './format.js';

const KINDS = {
  RECEIPT_KIND_TRANSACTION: 'transaction',
  RECEIPT_KIND_FIRE: 'fire',
  RECEIPT_KIND_ENGINE_MESSAGE: 'message',
  RECEIPT_KIND_MAILBOX_MESSAGE: 'message',
  RECEIPT_KIND_AGENT: 'agent',
};

function makeBox(key, parent, about) {
  return {key, parent, ...about, own: 0n, total: 0n, executions: 0n, actors: new Set(), children: new Map()};
}

// `before` is what was paid before an actor ran, for the transaction itself and its
// bytes: no call, and so no box.
export const makeRoot = () => ({...makeBox('', null, {name: 'all calls'}), before: 0n});

function childOf(box, key, about) {
  if (!box.children.has(key)) {
    box.children.set(key, makeBox(box.key ? `${box.key}/${key}` : key, box, about));
  }
  return box.children.get(key);
}

// What a stack stands on: the kind of execution and the handler that it began with.
function entryOf(stack, frames) {
  const kind = KINDS[stack.kind] ?? 'execution';
  const code = frames[stack.frames[0]].codeHash ?? '';
  const name = stack.handler || '(default handler)';
  return [`${kind}:${code}:${name}`, {name, kind, code}, stack.actor];
}

function frameOf({name = '', actor, codeHash = ''}) {
  const about = {name: name || '<module>', code: codeHash, isHostCall: !actor};
  return [`${codeHash}:${name}`, about, actor];
}

// Add one message of folded stacks to a tree; `unit` is `cycles` or `cells`.
export function addStacks(root, {frames = [], stacks = []}, unit) {
  for (const stack of stacks) {
    const cost = big(stack[unit]);
    if (!cost) continue;
    if (!stack.frames?.length) {
      root.before += cost;
      continue;
    }
    const path = [entryOf(stack, frames), ...stack.frames.map((index) => frameOf(frames[index]))];
    let box = root;
    root.total += cost;
    for (const [key, about, actor] of path) {
      box = childOf(box, key, about);
      box.total += cost;
      box.executions += big(stack.executions);
      if (actor) box.actors.add(actor);
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
      if (child.kind) {
        walk(child, above);
        continue;
      }
      const row = rowOf(found, child);
      row.own += child.own;
      if (!above.has(row.key)) row.total += child.total;
      for (const actor of child.actors) row.actors.add(actor);
      walk(child, new Set([...above, row.key]));
    }
  };
  walk(root, new Set());
  return [...found.values()].sort((a, b) => (a.own < b.own ? 1 : -1));
}

function rowOf(found, {name, code = '', isHostCall}) {
  const key = `${code}:${name}`;
  if (!found.has(key)) {
    found.set(key, {key, name, code, isHostCall, actors: new Set(), own: 0n, total: 0n});
  }
  return found.get(key);
}

// Who called an actor: the actor whose frame is below one of its, or else what the
// execution was. Each with the functions that were called and what they cost.
export function callers(root, actor) {
  const rows = new Map();
  const isOwn = (box) => box.actors.has(actor) && !box.kind;
  const walk = (box, below) => {
    for (const child of box.children.values()) {
      if (!isOwn(child)) {
        walk(child, child.isHostCall ? below : child);
        continue;
      }
      const key = below.kind ? `by a ${below.kind}` : hex([...below.actors][0]);
      const row = rows.get(key) ?? {key, actor: below.kind ? null : [...below.actors][0], functions: new Set(), cost: 0n};
      row.cost += child.total;
      row.functions.add(child.name);
      rows.set(key, row);
    }
  };
  walk(root, root);
  return [...rows.values()].sort((a, b) => (a.cost < b.cost ? 1 : -1));
}
