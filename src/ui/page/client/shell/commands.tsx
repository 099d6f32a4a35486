import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Control } from '../data/control.ts'
import { usePage } from './context.tsx'

/** Stops everything at one tap; absent if the config allows no commands. */
export function HaltButton() {
  const { store } = usePage()
  const { overview, control } = store
  if (overview?.control !== true || overview.halted !== null) return null
  return (
    <button
      type="button"
      class="command-button bad"
      title="Sign nothing new until it is resumed"
      onClick={() => void control.send({ command: 'halt' })}
    >
      Halt
    </button>
  )
}

/** Without a strategy: of everything. */
export function StopButton(props: { command: 'pause' | 'resume'; strategy?: string }) {
  const { store } = usePage()
  const { command, strategy } = props
  if (store.overview?.control !== true) return null
  const word = command === 'pause' ? 'Pause' : 'Resume'
  return (
    <button
      type="button"
      class="command-button"
      disabled={store.control.step.tag === 'sending'}
      onClick={() => void store.control.send({ command, strategy })}
    >
      {strategy === undefined ? word : `${word} ${strategy}`}
    </button>
  )
}

/** What a command still needs, or why it failed, in a modal dialog. */
export function CommandDialog() {
  const { store } = usePage()
  const { control } = store
  const dialog = useRef<HTMLDialogElement>(null)
  const { tag } = control.step
  const isOpen = tag !== 'idle' && tag !== 'sending'
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isOpen])
  return (
    <dialog
      ref={dialog}
      class="question"
      aria-labelledby="question-title"
      onCancel={(event) => {
        event.preventDefault()
        control.dismiss()
      }}
    >
      {isOpen && <Question control={control} />}
    </dialog>
  )
}

function Question({ control }: { control: Control }) {
  const { step } = control
  const cancel = (
    <button type="button" class="command-button" onClick={() => control.dismiss()}>
      {step.tag === 'failed' ? 'Close' : 'Cancel'}
    </button>
  )
  if (step.tag === 'token')
    return (
      <TokenForm
        title="Token for commands"
        hint={
          step.isWrong
            ? 'This token does not permit commands.'
            : 'It is in the file that http.control.tokenFile names.'
        }
        enter={(token) => control.enter(token)}
      >
        {cancel}
      </TokenForm>
    )
  if (step.tag === 'confirm')
    return (
      <>
        <h2 id="question-title">Resume?</h2>
        <p>This ends:</p>
        <ul>
          {step.question.ends.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
        {step.question.staysHalted && <p>Everything stays halted until all is resumed.</p>}
        <p class="choices-of-question">
          <button type="button" class="command-button bad" onClick={() => control.confirm()}>
            Resume
          </button>
          {cancel}
        </p>
      </>
    )
  return (
    <>
      <h2 id="question-title">Not done</h2>
      <p>{step.tag === 'failed' ? step.problem : ''}</p>
      <p class="choices-of-question">{cancel}</p>
    </>
  )
}

export function TokenForm(props: {
  title?: string
  hint: string
  enter(token: string): void
  children?: preact.ComponentChildren
}) {
  const [token, setToken] = useState('')
  return (
    <form
      class="token-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (token.trim() !== '') props.enter(token.trim())
      }}
    >
      {props.title !== undefined && <h2 id="question-title">{props.title}</h2>}
      <p>{props.hint}</p>
      <label>
        Token{' '}
        <input
          type="password"
          autoComplete="off"
          spellcheck={false}
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
      </label>
      <p class="choices-of-question">
        <button type="submit" class="command-button">
          Continue
        </button>
        {props.children}
      </p>
    </form>
  )
}
