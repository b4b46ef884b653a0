import { afterEach, expect, test, vi } from 'vitest';
import { WaitingRoom } from './waiting-room.ts';

afterEach(() => void vi.restoreAllMocks());

/** Whether a project alone finds room for so many bytes, on a machine or in a container with this much memory. */
function findsRoom(memory: number, bytes: number): boolean {
  vi.spyOn(process, 'constrainedMemory').mockReturnValue(memory);
  return new WaitingRoom().enter({ projectId: 'p', bytes });
}

test('events on their way into the database take less room where there is less memory', () => {
  const MB = 1024 ** 2;
  expect(findsRoom(512 * MB, 31 * MB)).toBe(true);
  expect(findsRoom(512 * MB, 33 * MB)).toBe(false);
  expect(findsRoom(2_048 * MB, 127 * MB)).toBe(true);
});
