/**
 * Decides when a request may be written. It is called with the connection open and only the write left to do,
 * so that no slow step lies between the permission and the request.
 */
export interface Turn {
  /** `now` counts as the start of the request. `never` cancels it unwritten. */
  take(): 'now' | 'later' | 'never';
  /** After `later`: calls back when to call `take` again. Returns a function that stops waiting. */
  wait(again: () => void): () => void;
}
