/*
 * The page around this one, which /portal/embed.js speaks for. It may exist only if its origin is one of the project's
 * `frame_origins`: the browser sees to that, and this page checks the origin of each message again.
 *
 *   host -> page   {posthorn: 'hello', theme}   who is there, and the theme
 *                  {posthorn: 'token', token}   a fresh token; null: there is none
 *   page -> host   {posthorn: 'height', height} the height of the content
 *                  {posthorn: 'token'}          asks for a fresh token
 *
 * Nothing is sent before the first hello, and then only to the origin that said it.
 */
import { useSyncExternalStore } from 'react';
import { renewWith, takeToken } from './session.ts';

type Send = (message: object) => void;

const TOKEN_WAIT_MS = 15_000;
let send: Send | undefined;
let answer: ((token: string | null) => void) | undefined;
let hostTheme: unknown;
const listeners = new Set<() => void>();

export const isEmbedded = window.parent !== window;

function mayEmbed(origin: string, allowed: readonly string[]): boolean {
  return allowed.some((one) => {
    const [scheme = '', rest = ''] = one.split('://*');
    return rest === '' ? one === origin : origin.startsWith(`${scheme}://`) && origin.endsWith(rest);
  });
}

/** Called before anything is awaited: the host says hello when the frame has loaded. */
export function listenToHost(allowed: readonly string[]): void {
  if (!isEmbedded) return;
  addEventListener('message', ({ source, origin, data }: MessageEvent<unknown>) => {
    if (source !== window.parent || !mayEmbed(origin, allowed)) return;
    if (typeof data !== 'object' || data === null) return;
    const { posthorn, theme, token } = data as Record<string, unknown>;
    if (posthorn === 'hello') meet(origin, theme);
    if (posthorn !== 'token') return;
    const fresh = typeof token === 'string' && token !== '' ? token : null;
    if (answer === undefined && fresh !== null) takeToken(fresh);
    answer?.(fresh);
  });
}

/** The theme that the host has sent; undefined: none. */
export const useHostTheme = (): unknown =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => hostTheme,
  );

if (isEmbedded)
  addEventListener(
    'toggle',
    ({ target }) => target instanceof HTMLDialogElement && keepInSight(target),
    true,
  );

function meet(origin: string, theme: unknown): void {
  hostTheme = theme;
  for (const listener of listeners) listener();
  const isNew = send === undefined;
  send = (message) => window.parent.postMessage(message, origin);
  if (!isNew) return;
  renewWith(askForToken);
  const tell = () =>
    send?.({ posthorn: 'height', height: Math.ceil(document.body.getBoundingClientRect().height) });
  new ResizeObserver(tell).observe(document.body);
}

function askForToken(): Promise<string | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), TOKEN_WAIT_MS);
    answer = (token) => {
      clearTimeout(timer);
      answer = undefined;
      resolve(token);
    };
    send?.({ posthorn: 'token' });
  });
}

/** The frame is as high as its content, so the middle of it may be out of sight. The dialog goes where the reader looks. */
function keepInSight(dialog: HTMLDialogElement): void {
  if (!dialog.open) return;
  const observer = new IntersectionObserver(([entry]) => {
    observer.disconnect();
    const { top = 0, height = 0 } = entry?.intersectionRect ?? {};
    if (height === 0) return;
    dialog.style.maxHeight = `${Math.max(240, height - 32)}px`;
    const room = height - dialog.getBoundingClientRect().height;
    dialog.style.margin = `${Math.max(16, top + Math.max(16, room / 2))}px auto auto`;
  });
  observer.observe(document.documentElement);
}
