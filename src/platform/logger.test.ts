import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';
import { Secret } from './secret.ts';

function logged(fields: object, text = 'message'): string {
  const lines: string[] = [];
  createLogger('trace', { write: (line: string) => void lines.push(line) }).info(fields, text);
  return lines.join('');
}

test.each([
  { secret: 'hunter2' },
  { endpoint: { secrets: ['hunter2'] } },
  { request: { headers: { authorization: 'hunter2' } } },
  { authorization: 'hunter2' },
  { oauth2: { client_secret: 'hunter2' } },
  { connection: { connectionString: 'hunter2' } },
  { anything: new Secret('hunter2') },
  { deep: { deeper: { deepest: [new Secret({ a: 'hunter2' })] } } },
])('%j is logged without its secrets', (fields) => {
  expect(logged(fields)).not.toContain('hunter2');
  expect(logged(fields)).toContain('***');
});

test('an error is logged with its stack and code, without the rows the database quotes', () => {
  const error = Object.assign(new Error('duplicate key'), {
    code: '23505',
    detail: 'Failing row contains (hunter2).',
    where: 'hunter2',
    parameters: ['hunter2'],
  });
  const line = logged({ err: error });
  expect(line).not.toContain('hunter2');
  expect(JSON.parse(line)).toMatchObject({ err: { code: '23505', message: 'duplicate key' } });
  expect(line).toContain('logger.test.ts');
});

test('values that are not secret are logged unchanged', () => {
  expect(JSON.parse(logged({ project: 'p', deliveries: 3 }))).toMatchObject({ project: 'p', deliveries: 3 });
});
