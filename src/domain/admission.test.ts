import { describe, expect, it } from 'vitest';
import { Admission, type Visitor } from './admission.ts';

const bounds = { what: 'calls', caller: 2, endpoint: 3, project: 4, node: 10 };
const refusal = (who: string, limit: number) =>
  `${who} may have at most ${limit} calls on a node at a time; try again in 5 s.`;

/** How many enter, and why the next one does not. Each is another caller at another endpoint, unless it says so. */
function fill(admission: Admission, visitor: Partial<Visitor> & { projectId: string }) {
  for (let count = 0; ; count += 1)
    try {
      const { projectId } = visitor;
      admission.enter({ callerId: `${projectId} ${count}`, endpointId: `${projectId} ${count}`, ...visitor });
    } catch (error) {
      return { count, message: (error as Error).message };
    }
}

describe('Admission', () => {
  it.each([
    [{ callerId: 'key' }, 2, 'A key, person or portal link'],
    [{ endpointId: 'endpoint' }, 3, 'An endpoint'],
    [{}, 4, 'A project'],
  ])('%j has its bound, which the refusal names', (visitor, limit, who) => {
    const filled = fill(new Admission(bounds), { projectId: 'a', ...visitor });
    expect(filled).toEqual({ count: limit, message: refusal(who, limit) });
  });

  it('keeps room on the node for the next project', () => {
    const admission = new Admission(bounds);
    const counts = ['a', 'b', 'c', 'd'].map((projectId) => fill(admission, { projectId }).count);
    expect(counts).toEqual([4, 3, 2, 1]);
    expect(fill(admission, { projectId: 'e' })).toEqual({
      count: 0,
      message: refusal('All projects together', 10),
    });
  });

  it('counts no refused visitor, and gives the place back on leaving', () => {
    const admission = new Admission({ ...bounds, endpoint: 1 });
    const visitor = { callerId: 'key', endpointId: 'one', projectId: 'a' };
    const leave = admission.enter(visitor);
    for (let n = 0; n < 5; n += 1) expect(() => admission.enter(visitor)).toThrow('An endpoint');
    admission.enter({ ...visitor, endpointId: 'two' })();
    leave();
    expect(() => admission.enter(visitor)).not.toThrow();
  });
});
