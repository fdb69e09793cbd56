// The node's API as this page uses it: the Connect protocol with JSON, over fetch.
//
// Messages are protobuf's JSON: field names in camelCase, 64-bit numbers as strings,
// bytes as base64, fields that are zero or empty left out. `lib/format.js` reads them.

import {useEffect, useRef, useState} from '../vendor/htm-preact.js';
import {makeStore, useStore} from './store.js';

const SERVICES = '/cowboy.devnet.v1.';
const TOKEN_KEY = 'cowboy-devnet-token';
const END_OF_STREAM = 2;
const ENVELOPE_BYTES = 5;
const AGAIN_MS = 1000;

// What was refused, and why: `code` is Connect's, `reason` the node's stable name.
export class ApiError extends Error {
  constructor(code, message, reason = '') {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

// Whether the node wants a token that this tab does not have.
export const session = makeStore({isTokenWanted: false, isRefused: false});

function readToken() {
  try {
    return sessionStorage.getItem(TOKEN_KEY) ?? '';
  } catch {
    return '';
  }
}

let token = readToken();

// Keep a token for this tab, and have everything asked again. What no header can carry
// is no node's token.
export function giveToken(text) {
  const given = text.trim();
  if (!/^[!-~]+$/.test(given)) {
    session.set({isTokenWanted: true, isRefused: true});
    return;
  }
  token = given;
  try {
    sessionStorage.setItem(TOKEN_KEY, token);
  } catch {
    // The tab keeps nothing: the token lives as long as the page.
  }
  session.set({isTokenWanted: false, isRefused: false});
}

function headers(contentType) {
  const sent = {'Content-Type': contentType, 'Connect-Protocol-Version': '1'};
  if (token) sent.Authorization = `Bearer ${token}`;
  return sent;
}

function noted(error) {
  if (error.code === 'unauthenticated' && !session.get().isTokenWanted) {
    session.set({isTokenWanted: true, isRefused: token !== ''});
  }
  return error;
}

function errorOf({code = 'unknown', message = '', details = []}) {
  return noted(new ApiError(code, message || code, reasonOf(details)));
}

// The stable name in google.rpc.ErrorInfo: its field 1.
function reasonOf(details) {
  const info = details.find(({type}) => type?.endsWith('google.rpc.ErrorInfo'));
  if (info?.debug?.reason) return info.debug.reason;
  try {
    const data = atob(info.value.replaceAll('-', '+').replaceAll('_', '/'));
    return data.charCodeAt(0) === 10 ? data.slice(2, 2 + data.charCodeAt(1)) : '';
  } catch {
    return '';
  }
}

async function send(method, contentType, body, signal) {
  try {
    return await fetch(SERVICES + method, {
      method: 'POST',
      headers: headers(contentType),
      body,
      signal,
      cache: 'no-store',
      credentials: 'omit',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError('unavailable', 'The node does not answer.', 'UNREACHABLE');
  }
}

async function refusal(response) {
  const text = await response.text().catch(() => '');
  try {
    return errorOf(JSON.parse(text));
  } catch {
    const code = response.status === 401 ? 'unauthenticated' : 'unknown';
    const said = text.trim().slice(0, 200) || response.statusText;
    return noted(new ApiError(code, `HTTP ${response.status}: ${said}`));
  }
}

// One answer, as `ask('QueryService/GetBlock', {height: 5})`; throws ApiError.
export async function ask(method, request = {}, signal = undefined) {
  const body = JSON.stringify(request);
  const response = await send(method, 'application/json', body, signal);
  if (!response.ok) throw await refusal(response);
  try {
    return await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError('internal', 'The answer ended in the middle.', 'CUT');
  }
}

// The messages of a server stream, one after the other; throws ApiError.
export async function* follow(method, request = {}, signal = undefined) {
  const body = enveloped(JSON.stringify(request));
  const response = await send(method, 'application/connect+json', body, signal);
  if (!response.ok) throw await refusal(response);
  const reader = response.body.getReader();
  try {
    for await (const [flags, message] of frames(reader, signal)) {
      if (!(flags & END_OF_STREAM)) {
        yield message;
        continue;
      }
      if (message.error) throw errorOf(message.error);
      return;
    }
    throw new ApiError('unavailable', 'The stream broke off.', 'CUT');
  } finally {
    reader.cancel().catch(() => {});
  }
}

function enveloped(text) {
  const data = new TextEncoder().encode(text);
  const framed = new Uint8Array(ENVELOPE_BYTES + data.length);
  new DataView(framed.buffer).setUint32(1, data.length);
  framed.set(data, ENVELOPE_BYTES);
  return framed;
}

async function* frames(reader, signal) {
  const decoder = new TextDecoder();
  let held = new Uint8Array(0);
  for (;;) {
    const part = await reader.read().catch((error) => {
      if (signal?.aborted) throw error;
      return {done: true};
    });
    if (part.done) return;
    held = joined(held, part.value);
    for (;;) {
      if (held.length < ENVELOPE_BYTES) break;
      const view = new DataView(held.buffer, held.byteOffset);
      const end = ENVELOPE_BYTES + view.getUint32(1);
      if (held.length < end) break;
      const text = decoder.decode(held.subarray(ENVELOPE_BYTES, end));
      yield [held[0], JSON.parse(text)];
      held = held.subarray(end);
    }
  }
}

function joined(first, second) {
  if (!first.length) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

// What `load(signal)` gives, as `{data, error, isLoading, reload}`.
//
// Another `question`, a list of what is asked for, begins anew. The same one is asked
// again when `moment` changes, the head for instance, at most every AGAIN_MS, one at a
// time; what was there stays until the new answer comes.
export function useAnswer(load, question, moment = []) {
  const [state, setState] = useState({isLoading: true});
  const [turn, setTurn] = useState(0);
  const {isTokenWanted} = useStore(session);
  const asker = useRef(null);
  asker.current ??= makeAsker(setState);
  asker.current.load = load;
  useEffect(() => {
    if (!isTokenWanted) asker.current.ask(JSON.stringify(question));
  }, [JSON.stringify(question), JSON.stringify(moment), turn, isTokenWanted]);
  useEffect(() => () => asker.current.stop(), []);
  return {...state, reload: () => setTurn((old) => old + 1)};
}

function makeAsker(show) {
  let current = null; // of the question that is being asked
  let last = null;
  let isDue = false;
  let timer = 0;
  const asker = {
    load: null,
    ask(question) {
      if (question !== last) {
        asker.stop();
        if (last !== null) show({isLoading: true});
        last = question;
      }
      if (current || timer) {
        isDue = true;
        return;
      }
      begin();
    },
    stop() {
      current?.abort();
      clearTimeout(timer);
      current = null;
      timer = 0;
      isDue = false;
    },
  };
  function begin() {
    const stop = new AbortController();
    current = stop;
    isDue = false;
    const ended = (next) => {
      if (stop.signal.aborted) return;
      show(next);
      current = null;
      timer = setTimeout(() => {
        timer = 0;
        if (isDue) begin();
      }, AGAIN_MS);
    };
    asker.load(stop.signal).then(
      (data) => ended({data, isLoading: false}),
      (error) => ended((old) => (error.code === 'unauthenticated' ? old : {...old, error, isLoading: false})),
    );
  }
  return asker;
}
