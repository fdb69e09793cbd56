// Answers that change with the chain, and what a rewind took away.

import {useAnswer} from './api.js';
import {useLive} from './live.js';

// As `useAnswer`; asked again when the chain was taken back and, while `isLive`, with
// each block.
export function useRefreshed(load, question, isLive = true) {
  const {head, rewinds} = useLive();
  return useAnswer(load, question, [isLive ? head?.hash : '', rewinds]);
}

// Whether an answer that was shown, or asked for, is of a part of the chain that a
// rewind took away.
export function useIsGone(answer) {
  const {rewinds} = useLive();
  return answer.error?.code === 'not_found' && rewinds > 0;
}
