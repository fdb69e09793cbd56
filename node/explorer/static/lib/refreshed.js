// Answers that change with the chain: asked again with each block, shown until then.

import {useEffect, useRef} from '../vendor/htm-preact.js';
import {useAnswer} from './api.js';
import {useLive} from './live.js';

// As `useAnswer`; while `isLive`, it is asked again when the chain has another head, and
// always when the chain was taken back.
export function useRefreshed(load, inputs, isLive = true) {
  const {head, rewinds} = useLive();
  const answer = useAnswer(load, inputs);
  const mark = `${isLive ? head?.hash : ''}/${rewinds}`;
  const seen = useRef(mark);
  useEffect(() => {
    if (seen.current !== mark && head) answer.reload();
    if (head) seen.current = mark;
  }, [mark]);
  return answer;
}

// Whether an answer that was shown, or asked for, is of a part of the chain that a
// rewind took away.
export function useIsGone(answer) {
  const {rewinds} = useLive();
  return answer.error?.code === 'not_found' && rewinds > 0;
}
