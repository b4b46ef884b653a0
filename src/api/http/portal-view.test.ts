import { describe, expect, test } from 'vitest';
import { RawJson } from '../../platform/json/raw-json.ts';
import { hiddenAs } from '../../platform/json/schema-marks.ts';
import { Type } from '../../platform/type.ts';
import { compilePortalView } from './portal-view.ts';

const viewer = (canSeeSecrets: boolean) => ({
  scope: {
    ownerId: 'me',
    endpointIds: new Set(['mine']),
    eventTypes: [],
    canManage: true,
    canRetry: true,
    canEditFunctions: true,
    canUseBrokers: false,
    canCreateEvents: true,
    canSeeSecrets,
  },
  ownHeaders: ['X-Signature', 'X-Once'],
});

describe('a portal view', () => {
  test('masks headers however deep they stand, except signatures and harmless ones in any case', () => {
    const headers = Type.Record(Type.String(), Type.Array(Type.String()));
    const view = compilePortalView(Type.Object({ content: Type.Array(Type.Object({ headers })) }));
    const shown = {
      'x-SIGNATURE': ['s'],
      'Webhook-Id': ['i'],
      'x-once': ['1'],
      'Content-Type': ['a/b'],
      partition: ['3'],
    };
    const data = { content: [{ headers: { ...shown, Other: ['a', 'b'] } }] };
    expect(view(data, viewer(true))).toEqual({ content: [{ headers: { ...shown, Other: ['***'] } }] });
    expect(data.content[0]?.headers.Other).toEqual(['a', 'b']);
  });

  test('leaves conditions on headers and payloads alone', () => {
    const schema = Type.Object({
      filter: Type.Object({ headers: Type.Record(Type.String(), Type.Unknown()) }),
      data: Type.Unsafe<RawJson>({}),
    });
    const data = { filter: { headers: { a: 'b' } }, data: new RawJson('{"secrets":["x"]}') };
    expect(compilePortalView(schema)(data, viewer(false))).toEqual(data);
  });

  test('looks into unions with null', () => {
    const schema = Type.Object({
      endpoint: Type.Union([Type.Object({ secrets: hiddenAs([], Type.Array(Type.String())) }), Type.Null()]),
    });
    const view = compilePortalView(schema);
    expect(view({ endpoint: { secrets: ['s'] } }, viewer(false))).toEqual({ endpoint: { secrets: [] } });
    expect(view({ endpoint: { secrets: ['s'] } }, viewer(true))).toEqual({ endpoint: { secrets: ['s'] } });
    expect(view({ endpoint: null }, viewer(false))).toEqual({ endpoint: null });
  });

  test('leaves out other owners’ endpoints, by id and in full, and sources', () => {
    const schema = Type.Object({
      endpoints: Type.Array(Type.String()),
      endpoint_metadata: Type.Array(Type.Object({ uid: Type.String(), secrets: Type.Array(Type.String()) })),
      source_metadata: Type.Union([Type.Object({ uid: Type.String() }), Type.Null()]),
    });
    const data = {
      endpoints: ['mine', 'theirs'],
      endpoint_metadata: [
        { uid: 'theirs', secrets: ['t'] },
        { uid: 'mine', secrets: ['m'] },
      ],
      source_metadata: { uid: 'source' },
    };
    expect(compilePortalView(schema)(data, viewer(false))).toEqual({
      endpoints: ['mine'],
      endpoint_metadata: [{ uid: 'mine', secrets: [] }],
      source_metadata: null,
    });
  });

  test('hides each field that can hold a secret and is not listed', () => {
    const schema = Type.Object({
      name: Type.String(),
      new_text: Type.String(),
      new_empty: Type.String(),
      new_or_null: Type.Union([Type.String(), Type.Null()]),
      new_list: Type.Array(Type.String()),
      new_record: Type.Record(Type.String(), Type.String()),
      new_any: Type.Unsafe<unknown>({}),
      new_group: Type.Object({ new_text: Type.String(), new_count: Type.Integer() }),
      new_time: Type.String({ format: 'date-time' }),
      new_word: Type.Union([Type.Literal('on'), Type.Literal('off')]),
      new_flag: Type.Boolean(),
    });
    const plain = {
      name: 'a',
      new_empty: '',
      new_time: '2026-01-01T00:00:00Z',
      new_word: 'on',
      new_flag: true,
    };
    const data = {
      ...plain,
      new_text: 's',
      new_or_null: 's',
      new_list: ['s'],
      new_record: { a: 's' },
      new_any: { a: 's' },
      new_group: { new_text: 's', new_count: 1 },
    };
    expect(compilePortalView(schema)(data, viewer(true))).toEqual({
      ...plain,
      new_text: '***',
      new_or_null: '***',
      new_list: [],
      new_record: null,
      new_any: null,
      new_group: { new_text: '***', new_count: 1 },
    });
  });

  test('refuses to guess between two shapes that both hold something to hide', () => {
    const one = Type.Object({ secrets: Type.Array(Type.String()) });
    const other = Type.Object({ client_key: Type.String() });
    expect(() => compilePortalView(Type.Union([one, other]))).toThrow('union');
  });
});
