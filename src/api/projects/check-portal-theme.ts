import type { PortalTheme } from '../../domain/config/project-config.ts';
import { invalid } from '../../domain/errors.ts';
import { isLoopbackHost } from '../../platform/loopback.ts';

/**
 * Values of the theme become part of a Content-Security-Policy, of HTML and of a style sheet. A host of a URL may
 * contain `;`, `,` and `'`, so hosts are checked by letters.
 */
const HOST = /^(?:[a-z0-9_-]+\.)*[a-z0-9-]+$|^\[[0-9a-f:.]+\]$/;
const ORIGIN = /^(https?):\/\/(?:\*\.)?(\[[^\]]*\]|[^:/?#@]+)(?::\d{1,5})?$/;
const FONTS = /^(?:[a-z0-9 _-]+(?:,[a-z0-9 _-]+)*)?$/i;

export function checkPortalTheme(theme: PortalTheme): void {
  const { accent, language, font, frame_origins } = theme;
  if (accent !== '' && !/^#[0-9a-f]{6}$/i.test(accent))
    throw invalid('config.portal.accent', 'must be a colour such as #3b5bdb');
  if (language !== '' && !/^[a-z]{2}$/.test(language))
    throw invalid('config.portal.language', 'must be two letters such as de');
  if (!FONTS.test(font)) throw invalid('config.portal.font', 'must be names such as Inter, Helvetica');
  for (const field of ['logo_url', 'logo_url_dark'] as const)
    if (theme[field] !== '' && !isLogo(theme[field]))
      throw invalid(`config.portal.${field}`, 'must be an https URL of an image, without a user');
  for (const origin of frame_origins)
    if (!isFrameOrigin(origin))
      throw invalid(
        'config.portal.frame_origins',
        `"${origin}" is not an origin such as https://app.example.com or https://*.example.com`,
      );
}

/** http is for trying it out on one's own machine. */
const isSafe = (scheme: string, host: string): boolean =>
  HOST.test(host) && (scheme === 'https' || isLoopbackHost(host));

function isLogo(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  return isSafe(protocol.slice(0, -1), hostname) && username === '' && password === '';
}

function isFrameOrigin(text: string): boolean {
  const [, scheme = '', host = ''] = ORIGIN.exec(text) ?? [];
  return isSafe(scheme, host) && (!text.includes('*') || host.includes('.'));
}
