import type { ComponentChildren } from 'preact'

export function About({ children }: { children: ComponentChildren }) {
  return <p class="about muted">{children}</p>
}

export type IslandName = 'charts' | 'sweep' | 'slots' | 'fills'

/** Content that the browser renders again with the same component, to make it interactive. */
export function Island({ name, children }: { name: IslandName; children: ComponentChildren }) {
  return <div data-island={name}>{children}</div>
}

/** A bar from zero, with its text beside it. */
export function Bar({ value, ...extent }: { value: number; lowest: number; highest: number }) {
  const lowest = Math.min(0, extent.lowest)
  const highest = Math.max(0, extent.highest)
  const share = (figure: number) =>
    highest > lowest ? ((figure - lowest) / (highest - lowest)) * 100 : 0
  const [from, to] = [share(Math.min(0, value)), share(Math.max(0, value))]
  const zero = share(0).toFixed(2)
  return (
    <svg
      class={`bar ${value < 0 ? 'below' : 'above'}`}
      viewBox="0 0 100 10"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect x={from.toFixed(2)} y="1" width={Math.max(0.5, to - from).toFixed(2)} height="8" />
      <line x1={zero} x2={zero} y1="0" y2="10" />
    </svg>
  )
}
