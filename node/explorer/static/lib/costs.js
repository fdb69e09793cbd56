// What lines and call stacks cost over a range of heights, as the node tells it while it
// executes the blocks again.

import {useEffect, useState} from '../vendor/htm-preact.js';
import {follow} from './api.js';
import {addStacks, makeRoot} from './flame.js';
import {instead} from './live.js';

const SHOW_MS = 150;

async function collect(request, unit, signal, show) {
  const found = {actors: [], root: makeRoot(), progress: null, summary: null};
  let shown = 0;
  for await (const told of follow('QueryService/StreamCosts', request, signal)) {
    if (told.progress) found.progress = told.progress;
    if (told.actor) found.actors.push(told.actor);
    if (told.stacks) addStacks(found.root, told.stacks, unit);
    if (told.summary) found.summary = told.summary;
    if (performance.now() - shown > SHOW_MS) {
      shown = performance.now();
      show({progress: found.progress});
    }
  }
  return found;
}

// `{actors, root, summary}` once all is told, `{progress}` before; `stop` ends it.
// `request` is that of StreamCosts; null asks for nothing.
export function useCosts(request, unit = 'cycles') {
  const [state, setState] = useState({isAsked: Boolean(request)});
  const question = JSON.stringify([request, unit]);
  useEffect(() => {
    if (!request) return undefined;
    const stop = new AbortController();
    const end = () => {
      stop.abort();
      setState({isStopped: true});
    };
    setState({isAsked: true, end});
    const ask = (signal) => {
      if (stop.signal.aborted) return null;
      const either = AbortSignal.any([signal, stop.signal]);
      return collect(request, unit, either, ({progress}) => setState({isAsked: true, end, progress}));
    };
    instead(ask).then(
      (found) => found && !stop.signal.aborted && setState(found),
      (error) => !stop.signal.aborted && setState({error}),
    );
    return () => stop.abort();
  }, [question]);
  return state;
}
