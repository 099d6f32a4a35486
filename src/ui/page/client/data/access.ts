import { keptText } from './kept.ts'

const kept = keptText('sessionStorage', 'tranched-token')

/** The token of this tab, kept until it is closed. */
class Access {
  #token = kept.read()
  /** Whether the daemon refused the last request for lack of a token. */
  isDenied = false

  set(token: string): void {
    this.#token = token
    kept.write(token)
  }

  headers(): Readonly<Record<string, string>> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }
  }

  /** Fetches with the token, and notes whether it was accepted. */
  async fetch(path: string, options: RequestInit = {}): Promise<Response> {
    const headers = { ...options.headers, ...this.headers() }
    const response = await fetch(path, { ...options, headers, cache: 'no-store' })
    this.isDenied = response.status === 401
    return response
  }
}

export const access = new Access()
