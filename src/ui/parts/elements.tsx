import type { ComponentChildren, RefObject } from 'preact'
import { useId } from 'preact/hooks'
import { exactText, shortAmount } from './wording/amounts.ts'
import type { Tone } from './wording/outcomes.ts'

/** Each tone has its own mark, so that colour is never the only sign. */
export function Pill({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`pill ${tone}`}>
      <span class="mark" aria-hidden="true" />
      {children}
    </span>
  )
}

export function Card(props: {
  title: string
  more?: { readonly href: string; readonly text: string }
  children: ComponentChildren
}) {
  const id = useId()
  return (
    <section class="card" aria-labelledby={id}>
      <header class="card-head">
        <h3 id={id}>{props.title}</h3>
        {props.more !== undefined && (
          <a class="more" href={props.more.href}>
            {props.more.text}
          </a>
        )}
      </header>
      {props.children}
    </section>
  )
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

/** Unknown or not applicable. */
export function Unknown({ children = 'not known' }: { children?: ComponentChildren }) {
  return <span class="unknown">{children}</span>
}

export function Fact(props: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  )
}

export function Amount({ amount, token }: { amount: string; token: string }) {
  return (
    <span class="amount" title={exactText({ amount, token })}>
      {shortAmount(amount)} <span class="token">{token}</span>
    </span>
  )
}

/** A click selects all of it. */
export function Command({ children }: { children: ComponentChildren }) {
  return <code class="command">{children}</code>
}

/** The keyboard moves along the line. */
export function PlotArea(props: {
  area: RefObject<HTMLDivElement | null>
  label: string
  describedBy?: string
  height?: string
  onKeyDown?(event: KeyboardEvent): void
  onBlur?(): void
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be part of a form.
    <div
      class={`plot ${props.height ?? ''}`}
      ref={props.area}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys go along the line.
      tabIndex={0}
      role="group"
      aria-roledescription="chart"
      aria-label={props.label}
      aria-describedby={props.describedBy}
      onKeyDown={props.onKeyDown}
      onBlur={props.onBlur}
    />
  )
}
