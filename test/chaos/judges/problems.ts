/** The promises that a run checks, and what broke them. */
export type Promised =
  | 'nothing is lost'
  | 'a duplicate is explained by a fault'
  | 'at most once is sent once'
  | 'every request is recorded'
  | 'our faults use no retry'
  | 'a limit is exact'
  | 'a limited endpoint gets what it may'
  | 'a key keeps its order'
  | 'nodes end cleanly'
  | 'a project is open in one cell'
  | 'lists keep their order';

export interface Problem {
  promise: Promised;
  text: string;
}

const SHOWN = 5;

export class Problems {
  readonly list: Problem[] = [];

  add(promise: Promised, text: string): void {
    this.list.push({ promise, text });
  }

  expectNone(promise: Promised, what: string, broken: readonly unknown[]): void {
    if (broken.length > 0)
      this.add(promise, `${broken.length} ${what}, such as ${JSON.stringify(broken.slice(0, SHOWN))}`);
  }
}
