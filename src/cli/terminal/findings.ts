import { printable } from '../../platform/printable.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { styled, styledLine } from './output.ts';

/** One thing that `posthorn doctor` looked at, and what to do if it is not well. */
export interface Finding {
  topic: string;
  state: 'ok' | 'warning' | 'problem';
  text: string;
}

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

/** Prints the findings, and fails if one is a problem. */
export function report(findings: readonly Finding[]): void {
  for (const { topic, state, text } of findings)
    styledLine(`${styled(COLOURS[state], state.padEnd(9))}${topic.padEnd(12)}${printable(text)}`);
  const problems = findings.filter(({ state }) => state === 'problem').length;
  if (problems > 0) throw new StartupError(`${problems} problems found; each line above says what to do`);
}
