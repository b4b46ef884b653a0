import type { FieldProblem } from 'posthorn-client';

/** Fields whose texts the page does not send. */
export class FieldError extends Error {
  readonly problems: readonly FieldProblem[];

  constructor(...problems: readonly FieldProblem[]) {
    super(problems.map(({ problem }) => problem).join(' '));
    this.problems = problems;
  }
}

/** The words of the API about a field, as a sentence. */
export const problemSentence = (problem: string): string =>
  `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`;
