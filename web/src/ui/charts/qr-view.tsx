import { renderSVG } from 'uqr';

/** A QR code, dark on light in both themes. */
export function QrView({ text, label }: { text: string; label: string }) {
  const image = `data:image/svg+xml;utf8,${encodeURIComponent(renderSVG(text, { border: 4 }))}`;
  return <img src={image} alt={label} className="size-44" />;
}
