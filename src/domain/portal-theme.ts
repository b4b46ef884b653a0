import { type Static, Type } from 'typebox';
import { invalid } from './errors.ts';

/** How the portal page of a project looks, and which pages may embed it. Everybody who knows the project's id can read it. */
export const PortalTheme = Type.Object({
  title: Type.String({ maxLength: 64, description: 'Name at the top of the page; empty = Webhooks.' }),
  logo_url: Type.String({ maxLength: 2048, description: 'https URL of an image; empty = none.' }),
  accent: Type.String({
    maxLength: 7,
    description: 'Colour of buttons and links, such as #3b5bdb; empty = the default.',
  }),
  radius: Type.Integer({ minimum: 0, maximum: 16, description: 'Radius of corners in pixels.' }),
  color_scheme: Type.Unsafe<'auto' | 'light' | 'dark'>({
    type: 'string',
    enum: ['auto', 'light', 'dark'],
    description: 'auto follows the reader’s system.',
  }),
  language: Type.String({
    maxLength: 2,
    description: 'Language of the page, such as de; empty = as the reader’s browser asks.',
  }),
  frame_origins: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
    maxItems: 20,
    description: 'Origins that may embed the page, such as https://app.example.com; empty = none.',
  }),
});
export type PortalTheme = Static<typeof PortalTheme>;

export const DEFAULT_PORTAL_THEME: PortalTheme = {
  title: '',
  logo_url: '',
  accent: '',
  radius: 5,
  color_scheme: 'auto',
  language: '',
  frame_origins: [],
};

/**
 * Values of the theme become part of a Content-Security-Policy, of HTML and of a style sheet. A host of a URL may
 * contain `;`, `,` and `'`, so hosts are checked by letters.
 */
const HOST = /^(?:[a-z0-9_-]+\.)*[a-z0-9-]+$|^\[[0-9a-f:.]+\]$/;
const ORIGIN = /^(https?):\/\/(?:\*\.)?(\[[^\]]*\]|[^:/?#@]+)(?::\d{1,5})?$/;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function checkPortalTheme(theme: PortalTheme): void {
  const { accent, language, logo_url, frame_origins } = theme;
  if (accent !== '' && !/^#[0-9a-f]{6}$/i.test(accent))
    throw invalid('config.portal.accent', 'must be a colour such as #3b5bdb');
  if (language !== '' && !/^[a-z]{2}$/.test(language))
    throw invalid('config.portal.language', 'must be two letters such as de');
  if (logo_url !== '' && !isLogo(logo_url))
    throw invalid('config.portal.logo_url', 'must be an https URL of an image, without a user');
  for (const origin of frame_origins)
    if (!isFrameOrigin(origin))
      throw invalid(
        'config.portal.frame_origins',
        `"${origin}" is not an origin such as https://app.example.com or https://*.example.com`,
      );
}

/** http is for trying it out on one's own machine. */
const isSafe = (scheme: string, host: string): boolean =>
  HOST.test(host) && (scheme === 'https' || LOOPBACK.test(host));

function isLogo(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  return isSafe(protocol.slice(0, -1), hostname) && username === '' && password === '';
}

function isFrameOrigin(text: string): boolean {
  const [, scheme = '', host = ''] = ORIGIN.exec(text) ?? [];
  return isSafe(scheme, host) && (!text.includes('*') || host.includes('.'));
}
