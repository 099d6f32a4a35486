import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogFile, openLogFile } from '../../../src/store/file/group-commit.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { journalContract } from './journal.ts'

journalContract('the journal file', async ({ clock, recorded }) => {
  const dir = await mkdtemp(join(tmpdir(), 'tranched-journal-'))
  let full = false
  const opened = await openJournal({
    dir,
    clock,
    recorded,
    onFatal: (error) => {
      if (!full) throw error
    },
    openLog: async (file) => {
      const log = await openLogFile(file)
      const write: LogFile['write'] = async (data, offset) => {
        if (full) throw new Error('no space left on device')
        return log.write(data, offset)
      }
      return { ...log, write }
    },
  })
  return {
    journal: opened.journal,
    failDisk: () => {
      full = true
    },
    dispose: async () => {
      await opened.close()
      await rm(dir, { recursive: true })
    },
  }
})
