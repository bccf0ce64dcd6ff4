CREATE (:Person {name:'Ann'});
CREATE (:Person {name:'Bob'});
