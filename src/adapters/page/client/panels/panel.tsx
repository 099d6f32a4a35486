import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from '../parts/icon.tsx'
import type { Panel as PanelOf } from '../route.ts'
import { StrategyPanel } from './strategy-panel.tsx'
import { WhyPanel } from './why-panel.tsx'

/** Over the view: the browser keeps the focus in it, closes it with Escape, and gives the focus back. */
export function Panel({ panel, close }: { panel: PanelOf | undefined; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const isOpen = panel !== undefined
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isOpen])
  // What is in it begins at its top, whatever was in it before.
  useLayoutEffect(() => dialog.current?.scrollTo(0, 0), [panel])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside it closes it, and so does Escape.
    <dialog
      ref={dialog}
      class="panel"
      aria-labelledby="panel-title"
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) close()
      }}
    >
      {panel !== undefined && (
        <div class="panel-inside">
          <button type="button" class="icon-button close" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
          <Inside panel={panel} />
        </div>
      )}
    </dialog>
  )
}

function Inside({ panel }: { panel: PanelOf }): ComponentChildren {
  if (panel.tag === 'strategy') return <StrategyPanel name={panel.strategy} />
  const { strategy, slotSeconds } = panel
  return (
    <WhyPanel key={`${strategy}:${slotSeconds}`} strategy={strategy} slotSeconds={slotSeconds} />
  )
}
