// The calendar as a picture: buckets of heights as bars, on a canvas.
//
// It draws what it is given and asks nobody: a drag draws a frame, not a question.

import {colour} from '../lib/chart.js';
import {compact, grouped} from '../lib/format.js';

const TOP = 22;
const BOTTOM = 26;
const LEFT = 52;
const TICK_PIXELS = 110;
const FONT = '12px system-ui, sans-serif';

// What became of timers in the past, from below; and what waits.
export const KINDS = [
  {name: 'fired', kind: 'fired', of: ({fires}) => fires},
  {name: 'put off', kind: 'late', of: ({putOffs}) => putOffs},
  {name: 'lost', kind: 'lost', of: ({expired, removed}) => Number(expired ?? 0) + Number(removed ?? 0)},
  {name: 'due', kind: 'pending', of: ({pending}) => pending},
];

export const valuesOf = (bucket) => KINDS.map(({of}) => Number(of(bucket) ?? 0));

const NAMES = ['ground', 'surface', 'line', 'line-strong', 'ink', 'muted', 'ring', 'epoch', 'overflow', 'accent', 'rest', ...KINDS.map(({kind}) => kind)];

export const coloursNow = () => Object.fromEntries(NAMES.map((name) => [name, colour(name)]));

// A picture of `scene` — {from, span, buckets, head, ringTo, epochsTo, countedFrom,
// selected, hovered, isLogarithmic, colours} — in so many pixels.
export function draw(canvas, width, height, scene) {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  const frame = {width, height, scene, pen, x: (at) => xOf(at, width, scene)};
  const shown = inSight(scene);
  const most = Math.max(1, ...shown.map((bucket) => valuesOf(bucket).reduce((sum, value) => sum + value, 0)));
  shade(frame);
  frame.y = scale(frame, most, scene.isLogarithmic);
  rule(frame, most);
  for (const bucket of shown) bar(frame, bucket);
  mark(frame);
  ticks(frame);
}

const xOf = (at, width, {from, span}) => LEFT + ((at - from) / span) * (width - LEFT);

// The height under a pixel.
export const heightAt = (x, width, {from, span}) => from + ((x - LEFT) / (width - LEFT)) * span;

// The buckets that are partly in sight; they are in order, and there may be a thousand.
function inSight({from, span, buckets}) {
  return buckets.filter(({first, last}) => last + 1 >= from && first <= from + span);
}

// --- behind the bars ---

function shade({pen, scene, x, width, height}) {
  const {head, ringTo, epochsTo, countedFrom, colours} = scene;
  const areas = [
    ['past', -Infinity, head + 1, colours.surface],
    ['ring', head + 1, ringTo + 1, colours.ring],
    ['epoch queue', ringTo + 1, epochsTo + 1, colours.epoch],
    ['overflow', epochsTo + 1, Infinity, colours.overflow],
  ];
  for (const [name, from, to, tint] of areas) {
    const left = Math.max(LEFT, x(from));
    const right = Math.min(width, x(to));
    if (right <= left) continue;
    pen.fillStyle = tint;
    pen.fillRect(left, 0, right - left, height - BOTTOM);
    pen.fillStyle = colours.muted;
    pen.textAlign = 'left';
    if (right - left > pen.measureText(name).width + 12) pen.fillText(name, left + 6, 15);
  }
  const unknown = Math.min(width, x(countedFrom));
  if (unknown > LEFT) {
    pen.fillStyle = colours.rest;
    pen.fillRect(LEFT, TOP, unknown - LEFT, height - TOP - BOTTOM);
  }
}

function scale({height}, most, isLogarithmic) {
  const room = height - TOP - BOTTOM;
  const part = isLogarithmic ? (value) => Math.log1p(value) / Math.log1p(most) : (value) => value / most;
  return (value) => height - BOTTOM - part(value) * room;
}

function rule({pen, scene, y, width}, most) {
  const {colours, isLogarithmic} = scene;
  pen.textAlign = 'right';
  const steps = isLogarithmic ? powersTo(most) : rounded(most, 4);
  for (const value of steps) {
    const at = Math.round(y(value)) + 0.5;
    pen.strokeStyle = colours.line;
    pen.beginPath();
    pen.moveTo(LEFT, at);
    pen.lineTo(width, at);
    pen.stroke();
    pen.fillStyle = colours.muted;
    pen.fillText(compact(value), LEFT - 6, at + 4);
  }
}

const powersTo = (most) => {
  const found = [];
  for (let value = 1; value <= most; value *= 10) found.push(value);
  return found;
};

// Round numbers from 0 to `most`, about so many; at least 1 apart.
function rounded(most, count) {
  const step = roundStep(most / count);
  return Array.from({length: Math.floor(most / step) + 1}, (_, index) => index * step);
}

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return Math.max(1, [1, 2, 5, 10].find((factor) => factor * power >= rough) * power);
}

// --- the bars ---

function bar({pen, scene, x, y, width, height}, bucket) {
  const {colours, selected, hovered} = scene;
  const left = Math.max(LEFT, x(bucket.first));
  const right = Math.min(width, x(bucket.last + 1));
  if (right <= left) return;
  if (bucket.first === selected || bucket.first === hovered) {
    pen.globalAlpha = bucket.first === selected ? 0.28 : 0.14;
    pen.fillStyle = colours.accent;
    pen.fillRect(left, 0, Math.max(1, right - left), height - BOTTOM);
    pen.globalAlpha = 1;
  }
  const gap = right - left > 4 ? 1 : 0;
  let below = 0;
  for (const [index, value] of valuesOf(bucket).entries()) {
    if (!value) continue;
    const top = y(below + value);
    pen.fillStyle = colours[KINDS[index].kind];
    pen.fillRect(left, top, Math.max(1, right - left - gap), Math.max(1.5, y(below) - top));
    below += value;
  }
}

function mark({pen, scene, x, width, height}) {
  const {head, colours} = scene;
  const at = x(head + 1);
  if (at < LEFT || at > width) return;
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(at, 0);
  pen.lineTo(at, height - BOTTOM);
  pen.stroke();
  pen.lineWidth = 1;
}

function ticks({pen, scene, x, width, height}) {
  const {from, span, colours} = scene;
  const step = roundStep((span * TICK_PIXELS) / Math.max(1, width - LEFT));
  pen.strokeStyle = colours['line-strong'];
  pen.fillStyle = colours.muted;
  pen.textAlign = 'center';
  pen.beginPath();
  pen.moveTo(LEFT, height - BOTTOM + 0.5);
  pen.lineTo(width, height - BOTTOM + 0.5);
  for (let at = Math.ceil(from / step) * step; at <= from + span; at += step) {
    const middle = x(at + (step === 1 ? 0.5 : 0));
    if (middle < LEFT || middle > width - 20) continue;
    pen.moveTo(middle, height - BOTTOM);
    pen.lineTo(middle, height - BOTTOM + 5);
    pen.fillText(grouped(at), middle, height - 7);
  }
  pen.stroke();
}
