import { printable } from '../../platform/printable.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { styled, styledLine } from './output.ts';

/** One thing that `posthorn doctor` looked at, and what to do if it is not well. */
export interface Finding {
  topic: string;
  state: 'ok' | 'warning' | 'problem';
  text: string;
}

/** An observation, the advice if it is bad, and how bad it is. */
type Advice = [text: string, advice: string, state?: Finding['state']];

export const finding = (
  topic: string,
  isWell: boolean,
  [text, advice, state = 'problem']: Advice,
): Finding => (isWell ? { topic, state: 'ok', text } : { topic, state, text: `${text}; ${advice}` });

export function nodesFinding(atWork: number, areAlike: boolean): Finding {
  const text = `${atWork} at work${areAlike ? '' : ', of different versions'}`;
  return finding('nodes', areAlike, [text, 'finish the update of all nodes', 'warning']);
}

/** `none`: the sentence where no source waits for its broker. */
export function brokersFindings(
  waiting: readonly { source: string; reason: string }[],
  none: string,
): Finding[] {
  if (waiting.length === 0) return [{ topic: 'brokers', state: 'ok', text: none }];
  return waiting.map(({ source, reason }) =>
    finding('brokers', false, [
      `source ${source} waits: ${reason}`,
      `posthorn sources test ${source} tries again`,
    ]),
  );
}

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

/** Prints the findings, and fails if one is a problem. */
export function report(findings: readonly Finding[]): void {
  for (const { topic, state, text } of findings)
    styledLine(`${styled(COLOURS[state], state.padEnd(9))}${topic.padEnd(12)}${printable(text)}`);
  const problems = findings.filter(({ state }) => state === 'problem').length;
  if (problems > 0) throw new StartupError(`${problems} problems found; each line above says what to do`);
}
