import { StateCorruptError } from '../../domain/errors.ts'

/** What an operator is told to do, by what is wrong. No backup is advised where the journal itself may be whole. */

const KEEP_A_COPY =
  'Stop the daemon and keep a copy of the whole state directory before anything else; delete nothing: open orders ' +
  'are recorded nowhere else'

/** Text that was cut or changed: a broken disk, an editor, a copy that was cut short. */
export function damagedJournal(file: string, detail: string): StateCorruptError {
  return new StateCorruptError({
    file,
    detail,
    remedy:
      `${KEEP_A_COPY}. \`tranched state verify\` says how far the journal is sound; \`tranched state restore BACKUP\` ` +
      'says of a backup which records it lacks before it puts it in place',
  })
}

/** A whole line, rightly linked, by somebody without the wallet's key. */
export function foreignJournal(file: string, detail: string): StateCorruptError {
  return new StateCorruptError({
    file,
    detail,
    remedy:
      'Nothing of it was acted on. Either somebody else can write this directory, or the config names another ' +
      `wallet than the one that made this state. ${KEEP_A_COPY}. Then find out who wrote it; \`tranched state verify\` ` +
      'says what else is not right',
  })
}

/** A snapshot that the journal may well make good. */
export function badSnapshot(file: string, detail: string): StateCorruptError {
  return new StateCorruptError({
    file,
    detail,
    remedy:
      'It follows from the journal, so bring back no backup for it. `tranched state verify` says whether the journal ' +
      'proves whole; if it does, `tranched state rebuild` makes state.json anew and loses nothing',
  })
}
