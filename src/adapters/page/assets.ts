import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Reply } from '../control/replies.ts'

/** The page's own files, as the build makes them. */
const FILES = [
  { path: '/', file: 'index.html', contentType: 'text/html; charset=utf-8' },
  { path: '/page.js', file: 'page.js', contentType: 'text/javascript; charset=utf-8' },
  { path: '/page.css', file: 'page.css', contentType: 'text/css; charset=utf-8' },
] as const

const MISSING = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>tranched</title>
<p>This installation has no page: its files are missing beside the program. <code>npm run build</code> makes them.
<p>The daemon runs all the same: see <a href="/metrics">/metrics</a>, <a href="/readyz">/readyz</a> and <code>tranched status</code>.
</html>
`

export type Assets = { at(path: string): Reply | undefined }

/**
 * Reads the page's files once: what is served goes with the program that serves it, whatever is built meanwhile. Without a
 * directory, or with a file missing, a plain page says so. Never rejects.
 */
export async function readAssets(dir: string | undefined): Promise<Assets> {
  const replies = new Map<string, Reply>()
  if (dir !== undefined) {
    const read = await Promise.all(FILES.map(({ file }) => readIfThere(join(dir, file))))
    for (const [index, { path, contentType }] of FILES.entries()) {
      const body = read[index]
      if (body !== undefined) replies.set(path, { status: 200, contentType, body })
    }
  }
  if (replies.size < FILES.length) {
    replies.clear()
    replies.set('/', { status: 200, contentType: 'text/html; charset=utf-8', body: MISSING })
  }
  return { at: (path) => replies.get(path) }
}

async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch {
    return undefined
  }
}
