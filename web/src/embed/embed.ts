/*
 * /portal/embed.js, for the page that shows the portal in a frame:
 *
 *   posthornPortal(element, { url, theme, token })
 *
 * It makes the frame, gives it the height of its content, and passes the theme. When a call of the frame is refused it
 * asks `token` for a fresh one. It says nothing to a frame of another origin than that of `url`, and believes no other.
 */
interface Options {
  /** The `url` of the portal link. */
  url: string;
  /** accent, radius, color_scheme and language, in place of those of the project. */
  theme?: object;
  /** A fresh token, for links of type refresh_token. */
  token?: () => Promise<string>;
}

(() => {
  const open = (parent: Element, { url, theme, token }: Options): HTMLIFrameElement => {
    const { origin } = new URL(url);
    const frame = document.createElement('iframe');
    const say = (message: object) => frame.contentWindow?.postMessage(message, origin);
    const hello = () => say({ posthorn: 'hello', theme });
    addEventListener('message', ({ source, origin: from, data }) => {
      if (source !== frame.contentWindow || from !== origin) return;
      if (data?.posthorn === 'height') frame.style.height = `${Number(data.height)}px`;
      if (data?.posthorn === 'token')
        Promise.resolve(token?.()).then(
          (fresh) => say({ posthorn: 'token', token: fresh ?? null }),
          () => say({ posthorn: 'token', token: null }),
        );
    });
    frame.addEventListener('load', hello);
    frame.title = 'Webhooks';
    frame.style.cssText = 'width:100%;height:480px;border:0';
    frame.allow = 'clipboard-write';
    frame.src = url;
    parent.append(frame);
    return frame;
  };
  Object.assign(window, { posthornPortal: open });
})();
