// What the search adds to Sphinx's scores: a page whose title has the words first, pages to read before lists, and the
// errors page for a pasted message.

const ERRORS = "reference/errors";
const LISTS = new Set(["changelog", "coverage-of-types", "one-type-everywhere", "performance", "predictions"]);

const stemsOf = (text) => {
  const stemmer = new Stemmer();
  const words = splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word));
  return words.map((word) => stemmer.stemWord(word));
};

Scorer.score = ([page, title, anchor, description, score, file, kind]) => {
  if (kind === "text") {
    const words = splitQuery(Search.asked.toLowerCase());
    const asked = stemsOf(Search.asked);
    const heading = stemsOf(title);
    if (asked.every((word) => heading.includes(word))) score += 1 + asked.length / heading.length;
    else if (words.length > 2) score = Math.min(score, Scorer.term); // one of them in a heading says little
    if (words.every((word) => splitQuery(title.toLowerCase()).includes(word))) score += 1;
  }
  if (page === ERRORS) return score + 0.6;
  if (LISTS.has(page) || page.endsWith("index")) return score - 0.5;
  return page.startsWith("reference/api/") ? score : score + 0.3;
};

// A message has names and numbers of the program it comes from: of a long query that the errors page has most words
// of, only these words count.
const parsed = Search._parseQuery;
Search._parseQuery = (query) => {
  Search.asked = query;
  const { terms, titleterms, docnames } = Search._index;
  const errors = docnames.indexOf(ERRORS);
  const isThere = (word) =>
    stemsOf(word).some((stem) => [terms, titleterms].some((table) => [table[stem]].flat().includes(errors)));
  const words = splitQuery(query).filter((word) => stemsOf(word).length);
  const kept = words.filter(isThere);
  return parsed(words.length > 4 && kept.length > words.length / 2 ? kept.join(" ") : query);
};
