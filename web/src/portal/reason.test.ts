import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { failedStep } from '../parts/brokers/steps.ts';
import { words as de } from '../parts/languages/de.ts';
import { words as en } from '../parts/languages/en.ts';
import { words as es } from '../parts/languages/es.ts';
import { words as fr } from '../parts/languages/fr.ts';
import { adviceText, outcomeText, tellDelivery } from './reason.ts';

/** The failures of a message in the table of docs/brokers.md, by step. */
function documented(): [step: string, outcomes: string[]][] {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/brokers.md'), 'utf8');
  const [, table = ''] = page.split('|step|`outcome`|');
  const rows = table.split('\n\n')[0]?.matchAll(/^\|(.+)\|(`.+`)\|$/gm) ?? [];
  return [...rows].map(([, step = '', words = '']) => [step, words.replaceAll('`', '').split(', ')]);
}

test('a customer learns in every language why a message failed, at which step, and what to do', () => {
  const failures = documented().filter(([step]) => step !== 'none');
  expect(failures).toHaveLength(7);
  for (const words of [en, de, es, fr]) {
    const steps = failures.map(([, outcomes]) => {
      const named = new Set(outcomes.map((outcome) => failedStep(words, outcome)));
      expect([...named]).toEqual([expect.any(String)]);
      for (const outcome of outcomes) {
        expect(outcomeText(words, outcome, true)).not.toBe(words.brokers.outcomes.other);
        expect(adviceText(words, outcome, true)).not.toBe('');
        expect(adviceText(words, outcome, true)).not.toMatch(/URL|200/);
      }
      return [...named][0];
    });
    expect(new Set(steps).size).toBe(failures.length);
    expect(failedStep(words, 'confirmed')).toBeUndefined();
  }
});

test('a timeout of a URL and one of a broker have advice of their own', () => {
  const described = (delivery: string) =>
    tellDelivery(
      en,
      {
        status: 'Failure',
        waiting_for: null,
        cancelled_at: null,
        last_outcome: 'timeout',
        endpoint_metadata: { delivery },
        metadata: { num_trials: 1, retry_limit: 1, next_send_time: null },
      } as never,
      String,
    );
  expect(described('push')).toContain('Your server did not answer in time. Respond first and work later');
  expect(described('broker')).toContain(
    'Your broker did not answer in time. Check the address and the port, that your broker runs',
  );
});
