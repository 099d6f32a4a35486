import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '../../src/adapters/journal-file.ts'
import { journalContract } from './journal.ts'

journalContract('the journal file', async (clock) => {
  const dir = await mkdtemp(join(tmpdir(), 'tranched-journal-'))
  const opened = await openJournal({
    dir,
    clock,
    onFatal: (error) => {
      throw error
    },
  })
  return {
    journal: opened.journal,
    dispose: async () => {
      await opened.close()
      await rm(dir, { recursive: true })
    },
  }
})
