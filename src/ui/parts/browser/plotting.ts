import UPlot from 'uplot'

/** Custom properties of the style sheet as canvas colours. Cached until `forget`. */
export class Palette {
  readonly #element: HTMLElement
  readonly #known = new Map<string, string>()

  constructor(element: HTMLElement) {
    this.#element = element
  }

  /** @param name `accent` for `--accent`. */
  of(name: string): string {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const probe = document.createElement('span')
    probe.style.color = `var(--${name})`
    this.#element.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    this.#known.set(name, color)
    return color
  }

  forget(): void {
    this.#known.clear()
  }
}

export function plotIn(
  element: HTMLElement,
  { palette, ...options }: Omit<UPlot.Options, 'width' | 'height'> & { palette: Palette },
  data: UPlot.AlignedData,
): UPlot {
  const look = {
    stroke: () => palette.of('muted'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: () => palette.of('line'), width: 1 },
    ticks: { show: false },
  }
  return new UPlot(
    {
      ...sizeOf(element),
      ...options,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, ...options.cursor },
      scales: { y: { range: roomy }, ...options.scales },
      axes: options.axes?.map((axis) => ({ ...look, ...axis })) ?? [],
    },
    data,
    element,
  )
}

/** Adds space above and below; a constant value lies in the middle. */
export function roomy(_: UPlot, lowest: number | null, highest: number | null): [number, number] {
  if (lowest === null || highest === null) return [0, 1]
  const room = (highest - lowest) * 0.12 || Math.abs(highest) * 0.02 || 1
  const from = lowest - room
  return [lowest >= 0 ? Math.max(0, from) : from, highest + room]
}

export function sizeOf({ clientWidth: width, clientHeight: height }: HTMLElement) {
  return { width, height }
}

/** @returns a function that stops observing */
export function onResize(element: HTMLElement, resized: () => void): () => void {
  const observer = new ResizeObserver(resized)
  observer.observe(element)
  return () => observer.disconnect()
}
