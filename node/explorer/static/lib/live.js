// What the node does now: its status, its head, and rewinds of its chain.
//
// A browser gives six connections to all tabs of an origin, and each stream takes one.
// So a tab has one stream at a time, none while it is hidden, and all tabs together
// STREAMS_MAX: one more asks every other second instead, and says so.

import {ask, follow, session} from './api.js';
import {number} from './format.js';
import {makeStore, useStore} from './store.js';

const STREAMS_MAX = 4;
const ASK_MS = 2000;
const BUSY_MS = 1000;
const FAST_MS = 1000;
const STATUS_MS = 2000; // of the pool and the next prices, which no block tells
const SHOW_MS = 400; // what comes within it is shown together
const READ_MAX = 10; // blocks at a time: of more, nobody sees each
const RETRY_MS = [500, 1000, 2000, 5000];
const BLOCKS_KEPT = 40;

// The bundle or folder that is looked at, where no node runs: nothing goes on there.
export const ONLY_READ = document.querySelector('meta[name="only-read"]').content;

// mode: `starting`, `still` (nothing goes on), `live` (it follows), `asking` (others
// follow), `busy` (another stream runs instead), `lost` (the node does not answer),
// `hidden`.
const live = makeStore({
  mode: 'starting',
  status: null, // the answer of GetStatus
  head: null, // the latest header
  blocks: [], // what came lately, newest first: the head and, without a gap, those before it
  rewinds: 0, // how often the chain was taken back while this page looked
  rewound: null, // where to, the last time: {height}
});

export const useLive = () => useStore(live);

const refOf = ({height, hash}) => ({height, hash});

let interrupt = () => {};
const waiting = [];

// Run `work(signal)`, which may hold a stream, in the place of the one that follows.
export function instead(work) {
  return new Promise((resolve, reject) => {
    waiting.push({work, resolve, reject});
    interrupt();
  });
}

// Ask for the status now: something was changed by this page.
export async function refresh() {
  if (live.get().mode !== 'live') return catchUp();
  const {rewinds} = live.get();
  const status = await ask('QueryService/GetStatus');
  if (live.get().rewinds === rewinds) live.update({status});
  return undefined;
}

function pause(ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    interrupt = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

const untilShown = () =>
  new Promise((resolve) => {
    interrupt = resolve;
  });

// The first of the slots that all tabs share which is free; `work(false)` if none is.
function inSlot(work, index = 0) {
  if (!navigator.locks) return work(true);
  if (index === STREAMS_MAX) return work(false);
  const name = `cowboy-devnet-stream-${index}`;
  return navigator.locks
    .request(name, {ifAvailable: true}, (lock) => (lock ? work(true).then(() => true) : false))
    .then((isDone) => isDone || inSlot(work, index + 1));
}

export async function keepFollowing() {
  document.addEventListener('visibilitychange', () => interrupt());
  session.listen(() => interrupt());
  for (let failures = 0; ; ) {
    if (document.hidden && !waiting.length) {
      live.update({mode: 'hidden'});
      await untilShown();
      continue;
    }
    try {
      await catchUp();
      failures = 0;
    } catch (error) {
      await afterFailure(error, failures++);
      continue;
    }
    await inSlot(work).catch((error) => error.name !== 'AbortError' && pause(RETRY_MS[0]));
  }
}

async function afterFailure(error, failures) {
  if (error.code === 'unauthenticated') {
    await untilShown(); // until a token was given
    return;
  }
  live.update({mode: 'lost'});
  await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
}

// The head, after a while in which nobody looked: the chain may have been taken back.
async function catchUp() {
  const seen = live.get().head;
  const status = await ask('QueryService/GetStatus');
  const isAhead = seen && number(status.head.height) > number(seen.height);
  let isGone = seen && number(status.head.height) < number(seen.height);
  if (isAhead) {
    const request = {hash: seen.hash, view: 'BLOCK_VIEW_HEADER'};
    isGone = await ask('QueryService/GetBlock', request).then(
      () => false,
      (error) => error.code === 'not_found',
    );
  } else if (seen && !isGone) {
    isGone = status.head.hash !== seen.hash;
  }
  if (isGone) rewind(isAhead ? {} : {height: status.head.height});
  if (status.head.hash !== seen?.hash) live.update({blocks: []});
  live.update({status, head: status.head});
}

function rewind(place) {
  const {rewinds} = live.get();
  live.update({rewinds: rewinds + 1, rewound: place, blocks: []});
}

async function work(hasSlot) {
  while (waiting.length) await runInstead(waiting.shift());
  if (document.hidden) return;
  if (ONLY_READ) {
    live.update({mode: 'still'});
    await untilShown();
  } else if (hasSlot) await followBlocks();
  else {
    live.update({mode: 'asking'});
    await pause(ASK_MS);
  }
}

async function runInstead({work: task, resolve, reject}) {
  const stop = new AbortController();
  live.update({mode: 'busy'});
  const asking = setInterval(() => catchUp().catch(() => {}), BUSY_MS);
  try {
    resolve(await task(stop.signal));
  } catch (error) {
    reject(error);
  } finally {
    clearInterval(asking);
  }
  await catchUp();
}

async function followBlocks() {
  const stop = new AbortController();
  interrupt = () => stop.abort();
  if (document.hidden || waiting.length) return;
  let isFast = false;
  const shown = batched((blocks) => {
    const kept = [...blocks.reverse(), ...live.get().blocks].slice(0, BLOCKS_KEPT);
    live.update({head: kept[0].header, blocks: kept});
    isFast ||= blocks.length > READ_MAX;
    if (isFast) stop.abort();
  });
  const request = {resumeAfter: refOf(live.get().head), view: 'BLOCK_VIEW_SUMMARY'};
  live.update({mode: 'live'});
  const asking = setInterval(() => refresh().catch(() => {}), STATUS_MS);
  try {
    for await (const {block, reverted} of follow('StreamService/StreamBlocks', request, stop.signal)) {
      if (block) shown.add(block);
      if (reverted) {
        shown.drop();
        rewind({height: reverted.height ?? '0'});
        await refreshHead();
      }
    }
    await pause(RETRY_MS[0]); // it ended by itself
  } catch (error) {
    if (!isFast) throw error;
  } finally {
    clearInterval(asking);
    shown.drop();
    interrupt = () => {};
  }
  if (isFast) await askWhileFast();
}

// Blocks come faster than anybody reads: the head alone is asked for, until they do not.
async function askWhileFast() {
  for (let made = Infinity; made > READ_MAX; ) {
    const before = number(live.get().head.height);
    await pause(FAST_MS * (0.75 + Math.random() / 2)); // not all pages at once
    if (document.hidden || waiting.length) return;
    await catchUp();
    made = number(live.get().head.height) - before;
  }
}

async function refreshHead() {
  const status = await ask('QueryService/GetStatus');
  live.update({status, head: status.head});
}

// Takes values one by one: shows the first at once, and what comes soon after together.
function batched(show) {
  let held = [];
  let timer = 0;
  const flush = () => {
    timer = held.length && setTimeout(flush, SHOW_MS);
    if (held.length) show(held.splice(0));
  };
  return {
    add(value) {
      held.push(value);
      if (!timer) flush();
    },
    drop() {
      held = [];
    },
  };
}
