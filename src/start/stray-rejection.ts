/**
 * A promise that failed and that no code awaits is a fault of ours, and work may have stopped with it unseen. Node would
 * end the process at once. Instead the caller logs it and stops cleanly, with code 1: requests under way are recorded,
 * rows return to the queue, and the next process starts with all of its work.
 */
export function onStrayRejection(fault: (error: unknown) => void): void {
  process.on('unhandledRejection', (error) => {
    process.exitCode = 1;
    fault(error);
  });
}

export const STRAY_REJECTION = 'stopping because of a fault: no code handled this error';
