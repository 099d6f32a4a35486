import { codeOf, StateCorruptError } from '../../domain/errors.ts'

/** Remedies by fault. None suggests a restore while the journal itself may be intact. */

const KEEP_A_COPY =
  'Stop the daemon and keep a copy of the whole state directory before anything else; delete nothing: open orders ' +
  'are recorded nowhere else'

function faultWith(remedy: string) {
  return (file: string, detail: string) => new StateCorruptError({ file, detail, remedy })
}

/** Truncated or altered text: a broken disk, an editor, an incomplete copy. */
export const damagedJournal = faultWith(
  `${KEEP_A_COPY}. \`tranched state verify\` says how far the journal is sound; \`tranched state restore BACKUP\` ` +
    'says of a backup which records it lacks before it puts it in place',
)

/** A complete, correctly linked line made without the wallet's key. */
export const foreignJournal = faultWith(
  'Nothing of it was acted on. Either somebody else can write this directory, or the config names another ' +
    `wallet than the one that made this state. ${KEEP_A_COPY}. Then find out who wrote it; \`tranched state verify\` ` +
    'says what else is not right',
)

/** A snapshot that can probably be rebuilt from the journal. */
export const badSnapshot = faultWith(
  'It follows from the journal, so bring back no backup for it. `tranched state verify` says whether the journal ' +
    'proves whole; if it does, `tranched state rebuild` makes state.json anew and loses nothing',
)

/** Maps the error of an existing but unreadable file. Node's error names neither the file nor a remedy. */
export function unreadableState(file: string, error: unknown): unknown {
  const code = codeOf(error)
  if (code === undefined) return error
  const detail = NO_FILE.has(code) ? 'this is not a regular file' : `it cannot be read (${code})`
  return new StateCorruptError({ file, detail, remedy: remedyFor(code) })
}

function remedyFor(code: string): string {
  if (NO_FILE.has(code))
    return 'Put what is there aside and bring the file itself back; state.json alone may be missing, for it follows from the journal'
  if (code === 'EACCES' || code === 'EPERM')
    return 'Give it to the user that runs the daemon (chown, chmod), then start again'
  return `Repair the disk first. ${KEEP_A_COPY}`
}

const NO_FILE: ReadonlySet<string> = new Set(['EISDIR', 'ENOTREG'])
