const CHECK_MS = 500;

/**
 * npx runs a command through `sh -c`, and passes SIGTERM on to that shell only. A dash ends and passes on nothing, so the
 * command would go on without a parent. It takes the end of its parent for the signal. A bash becomes the command itself
 * and gets the signal.
 */
export function stopWithNpx(env: NodeJS.ProcessEnv): void {
  const isOfNpx =
    env['npm_lifecycle_event'] === 'npx' && /\bposthorn\b/.test(env['npm_lifecycle_script'] ?? '');
  if (!isOfNpx) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, CHECK_MS).unref();
}
