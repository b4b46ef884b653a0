/**
 * What decides when a request may be written. It is asked with the connection open and nothing left to do but write, so
 * that whatever came before, however slow, does not lie between the permission and the request.
 */
export interface Turn {
  /** `now` counts as the start of the request; `never`: it is to be given up unwritten. */
  take(): 'now' | 'later' | 'never';
  /** After `later`: calls back when to ask again. Returns how to stop waiting. */
  wait(again: () => void): () => void;
}
