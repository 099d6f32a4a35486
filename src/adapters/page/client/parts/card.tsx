import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** A part of a view with its heading, and a link to where there is more of it. */
export function Card(props: {
  title: string
  class?: string
  more?: { readonly href: string; readonly text: string } | undefined
  children: ComponentChildren
}) {
  const id = useId()
  return (
    <section class={`card ${props.class ?? ''}`} aria-labelledby={id}>
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

/** What stands where there is nothing yet: never a blank. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}
