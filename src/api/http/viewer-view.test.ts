import { expect, test } from 'vitest';
import { Type } from '../../platform/type.ts';
import { compileViewerView } from './viewer-view.ts';

test('a viewer sees the place of a broker, unless a credential is stored in it', () => {
  const view = compileViewerView(Type.Object({ broker: Type.Object({}, { additionalProperties: true }) }));
  const shown = (sqs: object) => view({ broker: { type: 'sqs', sqs } }, { hidesPayload: false });
  const place = { endpoint: 'https://sqs.example/x', queue_name: 'q' };
  expect(shown({ ...place, secret_key: 's' })).toEqual({
    broker: { type: 'sqs', sqs: { ...place, secret_key: '***' } },
  });
  for (const endpoint of ['https://u:p@sqs.example', 'https://sqs.example/?key=p', 'u:p@sqs.example'])
    expect(shown({ endpoint }), endpoint).toEqual({ broker: { type: 'sqs', sqs: { endpoint: '***' } } });
});
