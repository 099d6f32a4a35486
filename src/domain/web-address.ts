const LOOPBACK = /^(localhost|::1|127(\.\d{1,3}){3})$/

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.replace(/^\[|\]$/g, ''))
}

/** The URL itself if its path, query or login may hold a secret. A bare origin holds none. */
export function addressSecrets(url: string): readonly string[] {
  const { pathname, search, username } = new URL(url)
  return pathname.length > 1 || search !== '' || username !== '' ? [url] : []
}

/** Secret parts of the token of a Telegram bot to mask: the whole token, and the part after the bot's public id. */
export function tokenSecrets(token: string): readonly string[] {
  return [token, token.slice(token.indexOf(':') + 1)]
}
