/** Whether the host of a URL is this machine, by its spelling. A name is not resolved. */
export function isLoopbackHost(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);
}
