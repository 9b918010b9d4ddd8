"""The packaged demo corpus and HowNet excerpt keep what their README promises."""

from __future__ import annotations

import unicodedata
from collections import Counter
from importlib.resources import files
from itertools import combinations

import jieba
import pytest

DEMO = files("letgraph") / "demo"
SPLITS = {"train": 8512, "dev": 300, "test": 300}
Pair = tuple[str, str, int]

# Hard negatives written for their kind; each must be in some split with label 0, in either order.
ONE_WORD_CHANGED = [
    ("我打算延期还款", "我打算提前还款"),
    ("我要还钱从哪里操作", "我要借钱从哪里操作"),
    ("为什么我的额度变多了", "为什么我的额度变少了"),
    ("我想申请一张储蓄卡", "我想申请一张贷记卡"),
    ("我要关掉免输密码付款", "我要打开免输密码付款"),
    ("取款机一天可以存几万", "取款机一天可以取几万"),
    ("应用怎么下载", "应用怎么卸载"),
]
ONE_WORD_TWO_MEANINGS = [
    ("这袋小米卖什么价", "这部小米卖什么价"),
    ("苹果的屏摔裂了可以换一块吗", "苹果压坏了好几个可以换一箱吗"),
    ("冷冻的鱼多久能解冻", "账户的钱多久能解冻"),
    ("一束鲜花一共多少", "本月一共花出去多少"),
    ("这个包不包邮", "这个包能背几年"),
    ("黄金今天多少钱一克", "黄金周你们放假吗"),
    ("刷新失败怎么回事", "刷卡失败怎么回事"),
    ("优惠券过期了还能用吗", "过期的牛奶能不能喝"),
    ("话费充了没到账", "手机充了半天还是没电"),
]
OTHER_ORDER = [
    ("我向朋友借了钱", "朋友向我借了钱"),
    ("怎么从储蓄卡转到信用卡", "怎么从信用卡转到储蓄卡"),
    ("先还钱后提额行吗", "先提额后还钱行吗"),
    ("人民币去哪儿兑换美元", "美元去哪儿兑换人民币"),
    ("主卡能替副卡还款吗", "副卡能替主卡还款吗"),
]


def lines(name: str) -> list[str]:
    text = (DEMO / name).read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[Pair]]:
    rows = {split: [line.split("\t") for line in lines(f"{split}.tsv")] for split in SPLITS}
    assert all(len(row) == 3 and row[2] in ("0", "1") for found in rows.values() for row in found)
    return {split: [(a, b, int(label)) for a, b, label in found] for split, found in rows.items()}


@pytest.fixture(scope="module")
def senses() -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for line in lines("hownet.tsv"):
        word, sememes = line.split("\t")
        found.setdefault(word, []).append(tuple(sememes.split(" ")))
    return found


@pytest.fixture(scope="module")
def words(corpus: dict[str, list[Pair]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The jieba words of every sentence."""
    tokenizer = jieba.Tokenizer()
    tokenizer.tmp_dir = str(tmp_path_factory.mktemp("jieba"))
    return {s: set(tokenizer.cut(s)) for rows in corpus.values() for pair in rows for s in pair[:2]}


def sentences(rows: list[Pair]) -> set[str]:
    return {sentence for a, b, _ in rows for sentence in (a, b)}


def overlap(a: str, b: str) -> float:
    return len(set(a) & set(b)) / len(set(a) | set(b))


@pytest.mark.parametrize("split", SPLITS)
def test_each_split_has_its_size_and_is_balanced(corpus: dict[str, list[Pair]], split: str) -> None:
    assert len(corpus[split]) == SPLITS[split]
    assert sum(label for *_, label in corpus[split]) == SPLITS[split] // 2


def test_sentences_are_short_and_clean(corpus: dict[str, list[Pair]]) -> None:
    for sentence in set().union(*map(sentences, corpus.values())):
        assert 4 <= len(sentence) <= 30, sentence
        assert all(unicodedata.category(character) in ("Lo", "Po") for character in sentence), sentence


def test_no_pair_is_in_two_splits_or_twice_in_one(corpus: dict[str, list[Pair]]) -> None:
    rows = Counter((a, b) for split in corpus.values() for a, b, _ in split)
    assert all(a != b and count == 1 for (a, b), count in rows.items())
    unordered = {name: Counter(frozenset((a, b)) for a, b, _ in split) for name, split in corpus.items()}
    # Train may say a pair the other way round as well: what matches does not depend on the order.
    assert all(count == 1 for name in ("dev", "test") for count in unordered[name].values())
    assert not unordered["train"].keys() & (unordered["dev"].keys() | unordered["test"].keys())
    assert not unordered["dev"].keys() & unordered["test"].keys()


def test_labels_agree_with_the_transitivity_of_meaning(corpus: dict[str, list[Pair]]) -> None:
    rows = [row for split in corpus.values() for row in split]
    group = {sentence: {sentence} for sentence in sentences(rows)}
    for a, b, label in rows:
        if label and group[a] is not group[b]:
            group[a] |= group[b]
            for member in group[b]:
                group[member] = group[a]
    assert [(a, b) for a, b, label in rows if not label and group[a] is group[b]] == []


@pytest.mark.parametrize("split", ["dev", "test"])
def test_unseen_sentences_are_made_of_words_seen_in_training(
    corpus: dict[str, list[Pair]], words: dict[str, set[str]], split: str
) -> None:
    known = sentences(corpus["train"])
    here = sentences(corpus[split])
    assert len(here - known) >= 0.25 * len(here)
    assert set().union(*(words[s] for s in here)) <= set().union(*(words[s] for s in known))


@pytest.mark.parametrize("split", ["dev", "test"])
def test_character_overlap_does_not_tell_the_label(corpus: dict[str, list[Pair]], split: str) -> None:
    """Train has easy negatives to begin with. Here, even the threshold and direction that suit the split best fail."""
    scored = [(overlap(a, b), label) for a, b, label in corpus[split]]
    hits = [sum((s >= cut) == label for s, label in scored) for cut in {s for s, _ in scored}]
    assert max(*hits, len(scored) - min(hits)) < 0.60 * len(scored)


def test_single_sentences_do_not_give_the_label_away(corpus: dict[str, list[Pair]]) -> None:
    labels: dict[str, list[int]] = {}
    for a, b, label in corpus["train"]:
        for sentence in (a, b):
            labels.setdefault(sentence, []).append(label)

    def lean(sentence: str) -> float:
        seen = labels.get(sentence, [])
        return (sum(seen) + 1) / (len(seen) + 2)

    test = corpus["test"]
    assert sum((lean(a) + lean(b) > 1) == label for a, b, label in test) < 0.60 * len(test)


def test_what_sets_two_sentences_apart_can_be_learnt(
    corpus: dict[str, list[Pair]], words: dict[str, set[str]], senses: dict[str, list[tuple[str, ...]]]
) -> None:
    """A linear model of the sememes that only one, or both, of the sentences have is well above overlap."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    sememes = {s: {m for w in ws for sense in senses.get(w, []) for m in sense} for s, ws in words.items()}

    def features(a: str, b: str) -> dict[str, float]:
        only_a, only_b = sememes[a] - sememes[b], sememes[b] - sememes[a]
        found = {f"one {m}": 1.0 for m in only_a | only_b} | {f"both {m}": 1.0 for m in sememes[a] & sememes[b]}
        return found | {f"{min(x, y)} for {max(x, y)}": 1.0 for x in only_a for y in only_b}

    vectorizer = DictVectorizer()
    seen = vectorizer.fit_transform([features(a, b) for a, b, _ in corpus["train"]])
    model = LogisticRegression(C=0.3, max_iter=200).fit(seen, [label for *_, label in corpus["train"]])
    unseen = vectorizer.transform([features(a, b) for a, b, _ in corpus["test"]])
    assert model.score(unseen, [label for *_, label in corpus["test"]]) > 0.70


@pytest.mark.parametrize("kind", [ONE_WORD_CHANGED, ONE_WORD_TWO_MEANINGS, OTHER_ORDER])
def test_hard_negatives_of_each_kind_are_there(corpus: dict[str, list[Pair]], kind: list[tuple[str, str]]) -> None:
    labels = {frozenset((a, b)): label for rows in corpus.values() for a, b, label in rows}
    assert [labels.get(frozenset(pair)) for pair in kind] == [0] * len(kind)


@pytest.mark.parametrize(("split", "least"), [("train", 30), ("dev", 4), ("test", 4)])
def test_pairs_that_only_word_order_sets_apart_are_in_every_split(
    corpus: dict[str, list[Pair]], split: str, least: int
) -> None:
    assert sum(not label and sorted(a) == sorted(b) for a, b, label in corpus[split]) >= least


def test_paraphrases_with_next_to_no_common_character_are_there(corpus: dict[str, list[Pair]]) -> None:
    for rows in corpus.values():
        assert sum(label and overlap(a, b) < 0.15 for a, b, label in rows) >= 0.05 * len(rows)


def test_excerpt_is_well_formed(senses: dict[str, list[tuple[str, ...]]]) -> None:
    rows = [line.split("\t")[0] for line in lines("hownet.tsv")]
    starts = [word for before, word in zip(["", *rows], rows, strict=False) if word != before]
    assert len(starts) == len(set(starts)), "the senses of a word must be on consecutive rows"
    for word, found in senses.items():
        assert word and word == word.strip()
        assert len(found) == len(set(found)), f"{word} has a sense twice"
        assert all(all(sense) for sense in found), f"{word} has an empty sememe"


def test_excerpt_covers_the_words_of_the_corpus(
    words: dict[str, set[str]], senses: dict[str, list[tuple[str, ...]]]
) -> None:
    found = {word for ws in words.values() for word in ws}
    content = {word for word in found if len(word) >= 2}
    assert len(found & senses.keys()) >= 0.95 * len(found)
    assert len(content & senses.keys()) >= 0.95 * len(content)


@pytest.mark.parametrize(
    ("synonyms", "antonym"),
    [
        (["开通", "激活", "启用"], "停用"),
        (["关闭", "关掉"], "打开"),
        (["提高", "调高"], "降低"),
        (["延期", "推迟"], "提前"),
        (["信用卡", "贷记卡"], "借记卡"),
        (["取款", "取钱", "取现"], "存钱"),
    ],
)
def test_synonyms_share_a_sense_and_antonyms_do_not(
    senses: dict[str, list[tuple[str, ...]]], synonyms: list[str], antonym: str
) -> None:
    for one, other in combinations(synonyms, 2):
        assert senses[one][0] == senses[other][0]
    assert not set(senses[synonyms[0]]) & set(senses[antonym])


@pytest.mark.parametrize(
    ("word", "heads"),
    [
        ("苹果", {"水果", "电话"}),
        ("小米", {"食物", "电话"}),
        ("包", {"用具", "包含", "货币"}),
        ("花", {"花草", "付"}),
        ("打", {"联系", "转移", "减少", "打印", "雇用"}),
        ("充", {"增加"}),
        ("卡", {"票证", "阻塞"}),
        ("行", {"能", "机构"}),
        ("会", {"未来", "事务"}),
        ("刷", {"付", "认识", "显现", "擦洗"}),
    ],
)
def test_words_with_several_meanings_have_several_senses(
    senses: dict[str, list[tuple[str, ...]]], word: str, heads: set[str]
) -> None:
    assert len(senses[word]) >= 2
    assert heads <= {sense[0] for sense in senses[word]}
